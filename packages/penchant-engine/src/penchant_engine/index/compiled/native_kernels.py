"""Native kernels: compiled code, loaded by llvmlite and called by address, without the rest of a compiler.

A kernel is called as numba's functions call each other: a place for its result, one for an error, then every argument,
cut into numbers. A tuple is its members; an array is

    owner   parent   items   bytes of an item   address   shape, a number each   strides, a number each

Both places are ignored: kernels return nothing and raise nothing. Python packs the arguments one after the other, eight
bytes each, a number or the address of an array's object, and calls the kernel by a function that takes them, and what
they say of arrays, out of memory (`native_compiling`).
"""

import ctypes
import functools
import itertools
import struct
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np

from penchant_engine.index.compiled.samples import Kind, samples_of
from penchant_engine.index.layout import LastingArrays

ENTRY = "penchant_kernel"
"""The function of a kernel's code that is called: it takes the place in memory where the arguments lie packed."""

_HEAD_BYTES = object.__basicsize__
ARRAY_HEAD = {"data": _HEAD_BYTES, "shape": _HEAD_BYTES + 16, "strides": _HEAD_BYTES + 24}
"""Where the addresses of items, shape and strides stand in an array's object: numpy's C interface has them there."""


class NativeCode(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel as an object file of this machine, and the name that its function has there."""

    symbol: str
    code: bytes


class NativeKernel:
    """A kernel to be called with arguments of the types of its sample; it runs without the interpreter's lock.

    Unless it is called `quickly`.
    """

    def __init__(self, compiled: NativeCode, sample: tuple[Any, ...]) -> None:
        # Kept: the code goes with what has loaded it.
        self._loader = _loader_of(compiled.code)
        address = self._loader.get_function_address(compiled.symbol)
        self._count = len(sample)
        self._packs = [(_packer_for(sample[own]).packed, own) for own in _pieces_of(sample)]
        self._function = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(address)
        self._quick_function = ctypes.PYFUNCTYPE(None, ctypes.c_char_p)(address)

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel.

        Raises:
            TypeError: an argument is not of the type that the code is for.
        """
        self._function(self._packed(arguments))

    def quickly(self, *arguments: Any) -> None:
        """Run the kernel for some microseconds with the interpreter's lock: to give that away can take longer.

        Raises:
            TypeError: as `__call__`.
        """
        self._quick_function(self._packed(arguments))

    def _packed(self, arguments: tuple[Any, ...]) -> bytes:
        """Return the arguments, cut into numbers, as the code reads them."""
        if len(arguments) != self._count:
            raise TypeError(f"a kernel takes {self._count} arguments, not {len(arguments)}")
        return b"".join([packed(arguments[own]) for packed, own in self._packs])


def _pieces_of(sample: tuple[Any, ...]) -> Iterator[int | slice]:
    """Yield what of some arguments is packed at once: each tuple alone, and what comes between them."""
    begin = 0
    for end, argument in enumerate((*sample, ())):
        if isinstance(argument, tuple):
            if begin < end:
                yield slice(begin, end)
            if end < len(sample):
                yield end
            begin = end + 1


_ARRAY_TYPE = attrgetter("dtype", "ndim", "flags.c_contiguous")


class _LeafType(NamedTuple):
    """The type of a part of an argument that is no tuple: an array of ``dtype``, or else a number."""

    dtype: Any
    dimensions: int
    is_real: bool

    @classmethod
    def of(cls, leaf: Any) -> "_LeafType":
        """Return the type of a sample."""
        if isinstance(leaf, np.ndarray):
            return cls(leaf.dtype, leaf.ndim, is_real=False)
        return cls(None, 0, is_real=isinstance(leaf, float))


class _Packer:
    """Cuts tuples of some types into eight bytes for each of their leaves."""

    def __init__(self, types: tuple[_LeafType, ...], *, is_nested: bool) -> None:
        self._leaves_of: Callable[[tuple[Any, ...]], list[Any]] = leaves_of if is_nested else list
        self._are_arrays = [each.dtype is not None for each in types]
        self._arrays = [(each.dtype, each.dimensions, True) for each in types if each.dtype is not None]
        self._numbers = [place for place, is_array in enumerate(self._are_arrays) if not is_array]
        self._struct = struct.Struct("=" + "".join("d" if each.is_real else "q" for each in types))

    def packed(self, argument: tuple[Any, ...]) -> bytes:
        """Return an argument as bytes: of `LastingArrays` those that were found before.

        Raises:
            TypeError: it is not of the types.
        """
        if not isinstance(argument, LastingArrays):
            return self._pack(argument)
        found = argument.packed.get(self)
        if found is None:
            found = argument.packed[self] = self._pack(argument)
        return found

    def _pack(self, argument: tuple[Any, ...]) -> bytes:
        leaves = self._leaves_of(argument)
        # What is not of its type would be read past its end. Without a step of Python's for each array.
        arrays = list(map(_ARRAY_TYPE, itertools.compress(leaves, self._are_arrays)))
        if arrays != self._arrays:
            raise TypeError(f"a kernel takes arrays of {self._arrays}, not of {arrays}")
        values = list(map(id, leaves))
        for place in self._numbers:
            values[place] = leaves[place]
        return self._struct.pack(*values)


# One for all kernels that take the same: what lasts is packed once for all of them.
_packer_of = functools.cache(_Packer)


def _packer_for(sample: tuple[Any, ...]) -> _Packer:
    types = tuple(map(_LeafType.of, leaves_of(sample)))
    return _packer_of(types, is_nested=any(isinstance(member, tuple) for member in sample))


def load_kind(kind: Kind, code: Mapping[str, NativeCode]) -> dict[str, NativeKernel]:
    """Return the kernels of a kind by their names; takes some milliseconds.

    Raises:
        KeyError: the code lacks one of them.
    """
    return {name: NativeKernel(code[name], sample) for name, sample in samples_of(kind).items()}


def leaves_of(arguments: tuple[Any, ...]) -> list[Any]:
    """Return what arguments consist of, the members of tuples one after the other."""
    leaves: list[Any] = []
    for argument in arguments:
        if isinstance(argument, tuple):
            leaves += leaves_of(argument)
        else:
            leaves.append(argument)
    return leaves


def _loader_of(code: bytes) -> Any:
    """Return what has loaded an object file, ready to be run."""
    import llvmlite.binding as llvm  # noqa: PLC0415  # 50 MiB, which commands that never search do without

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    loader = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    loader.add_object_file(llvm.ObjectFileRef.from_data(code))
    loader.finalize_object()
    return loader
