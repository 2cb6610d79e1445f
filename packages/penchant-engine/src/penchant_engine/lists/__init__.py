"""Lists: what is similar, what a person may like, what is popular or new, each ranked, explained and arranged."""
