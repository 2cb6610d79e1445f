"""Mounts: applications that packages serve below ``/-/``, and what only their tools ask for."""
