"""Work files: histories, and what is asked of them, as bytes for other processes."""

import copyreg
import pickle
from pathlib import Path
from types import MappingProxyType
from typing import Any


def write_work(path: Path, value: object) -> None:
    """Write what `read_work` gives back."""
    with path.open("wb") as file:
        pickler = pickle.Pickler(file, protocol=5)
        # Pieces have their weights as views of dictionaries, of which pickle knows nothing.
        pickler.dispatch_table = {**copyreg.dispatch_table, MappingProxyType: _reduce_view}
        pickler.dump(value)


def read_work(content: Any) -> Any:
    """Return what is in a file, whose buffer this is.

    It may run code as it is read: files of work lie where nobody but their writer can write.
    """
    return pickle.loads(content)  # noqa: S301


def _reduce_view(view: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return _view_of, (dict(view),)


def _view_of(members: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(members)
