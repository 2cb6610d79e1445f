"""Pickling for files of our own: pieces have views of dictionaries, of which pickle knows nothing."""

import copyreg
import pickle
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import IO, Any


def new_pickler(
    file: IO[bytes], reducers: Mapping[type[Any], Callable[[Any], tuple[Any, ...]]] = MappingProxyType({})
) -> pickle.Pickler:
    """Return what pickles to a file, which only whoever wrote it may read: reading may run code.

    ``reducers`` give what makes a value of their type again: a function, and its arguments.
    """
    pickler = pickle.Pickler(file, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {**copyreg.dispatch_table, MappingProxyType: _reduce_view, **reducers}
    return pickler


def _reduce_view(view: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return _view_of, (dict(view),)


def _view_of(members: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(members)
