"""The version of the client, which is that of the service."""

__version__ = "0.2.0"
