"""People: what they did with the pieces, what follows from it for each of them and for all, and how it is explained."""
