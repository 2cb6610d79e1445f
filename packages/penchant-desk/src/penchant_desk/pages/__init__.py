"""Pages of the desk: each shows what it asked the interface for, and takes its forms."""
