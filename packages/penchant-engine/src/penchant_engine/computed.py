"""Properties that are worked out once for each object, when they are first asked for."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class computed(Generic[Value]):  # noqa: N801  # a decorator, named as such
    """A property that is worked out once for each object and kept in its ``__dict__``.

    As `functools.cached_property` has been since Python 3.12, without the lock that each first look took before, a
    microsecond: where threads share an object, two may work it out, and both get what one of them has.
    """

    def __init__(self, work: Callable[[Any], Value]) -> None:
        self._work = work
        self.__doc__ = work.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "computed[Value]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> "computed[Value] | Value":
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._work(instance)
        return value
