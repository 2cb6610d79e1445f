"""Numbers of commands."""

import math
from typing import Any

import click


class NumberRange(click.FloatRange):
    """Takes the numbers of a range; NaN, which no bound holds off, and infinity are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return a number; raises `click.BadParameter` where it is none of the range."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number.", param, ctx)
        return number
