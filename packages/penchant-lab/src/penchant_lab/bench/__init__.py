"""Benchmarks: made or given catalogues, a server as a process of its own, and baselines in the same run."""
