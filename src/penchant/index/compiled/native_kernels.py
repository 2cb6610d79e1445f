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
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np

from penchant.index.compiled.samples import Kind, samples_of
from penchant.index.layout import LastingArrays

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
        types = [tuple(map(_LeafType.of, leaves_of((argument,)))) for argument in sample]
        self._packs = tuple(_packer_of(each).packed for each in types)
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
        return b"".join([packed(argument) for packed, argument in zip(self._packs, arguments, strict=True)])


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
    """Cuts arguments of some types into eight bytes for each of their leaves."""

    def __init__(self, types: tuple[_LeafType, ...]) -> None:
        self._arrays = [
            (place, each.dtype, each.dimensions) for place, each in enumerate(types) if each.dtype is not None
        ]
        self._struct = struct.Struct("=" + "".join("d" if each.is_real else "q" for each in types))

    def packed(self, argument: Any) -> bytes:
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

    def _pack(self, argument: Any) -> bytes:
        leaves = leaves_of(argument) if isinstance(argument, tuple) else [argument]
        for place, dtype, dimensions in self._arrays:
            leaf = leaves[place]
            # What is not of its type would be read past its end.
            if leaf.dtype != dtype or leaf.ndim != dimensions or not leaf.flags.c_contiguous:
                raise TypeError(f"a kernel takes an array of {dtype}, not of {leaf.dtype}")
            leaves[place] = id(leaf)
        return self._struct.pack(*leaves)


# One for all kernels that take the same: what lasts is packed once for all of them.
_packer_of = functools.cache(_Packer)


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
