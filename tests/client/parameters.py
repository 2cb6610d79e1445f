"""Which parameters has a method of the client?"""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_type_hints


def parameters_of(build: Callable[..., Any]) -> Iterator[str]:
    """Yield their names, those of options as well."""
    for parameter in inspect.signature(build).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            (options,) = get_args(parameter.annotation)
            yield from get_type_hints(options)
        else:
            yield parameter.name
