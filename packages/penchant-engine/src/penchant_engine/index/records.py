"""Records of arrays: what they hold by name, for files that any number of processes map, and back."""

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any, Self

from numpy.typing import NDArray

from penchant_engine.index.strings import Strings


class ArrayMembers:
    """A dataclass whose members are arrays or tables of strings, each of which is two arrays."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        arrays: dict[str, NDArray[Any]] = {}
        for field in _stored(type(self)):
            value = getattr(self, field.name)
            if isinstance(value, Strings):
                arrays |= {f"{field.name}.starts": value.starts, f"{field.name}.text": value.text}
            else:
                arrays[field.name] = value
        return arrays

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the record of these arrays, as `arrays` names them; they are used, not copied."""
        members: dict[str, Any] = {}
        for field in _stored(cls):
            if field.type is Strings:
                members[field.name] = Strings(arrays[f"{field.name}.starts"], arrays[f"{field.name}.text"])
            else:
                members[field.name] = arrays[field.name]
        return cls(**members)


def _stored(kind: Any) -> list[Field[Any]]:
    """Return the fields that make a record; all else follows from them."""
    return [each for each in fields(kind) if each.init]
