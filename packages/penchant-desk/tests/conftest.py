"""Fixtures of the desk: a service in this process with a source and a person, and somebody who looks at its pages."""

from web.conftest import alone, clock, filled, fresh, noon, service, visitor

__all__ = ["alone", "clock", "filled", "fresh", "noon", "service", "visitor"]
