"""Tools for agents, by the Model Context Protocol: each a request of the client, with what its key may do."""

__version__ = "0.2.0"
