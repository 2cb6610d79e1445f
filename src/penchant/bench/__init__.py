"""How fast is it here? Made or given catalogues, a server as a process of its own, and baselines in the same run."""
