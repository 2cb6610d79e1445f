"""The desk: the pages of the dashboard, whose values come through the interface of the service alone."""

__version__ = "0.2.0"
HOME = "/-/dashboard"
