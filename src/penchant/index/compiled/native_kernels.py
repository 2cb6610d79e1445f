"""Native kernels: compiled code, loaded by llvmlite and called by address, without the rest of a compiler.

A kernel is called as numba's functions call each other: a place for its result, one for an error, then every argument,
cut into numbers. A tuple is its members; an array is

    owner   parent   items   bytes of an item   address   shape, a number each   strides, a number each

Both places are ignored: kernels return nothing and raise nothing. Python packs the arguments one after the other, eight
bytes for each number, and calls the kernel by a function that takes them out of memory (`native_compiling`).
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
"""Where an array's address stands in its object: numpy's C interface has it there (`leaf.ctypes.data` takes 3 us)."""
_address_at = ctypes.c_void_p.from_address


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
        self._packers = tuple(_packer_of(_Types.of(argument)) for argument in sample)
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
        pairs = zip(self._packers, arguments, strict=True)
        return b"".join([packer.packed(argument) for packer, argument in pairs])


class _Types(NamedTuple):
    """The types of an argument's leaves: of an array its dtype and dimensions, of a number what makes one of it."""

    leaves: tuple[tuple[Any, int, Any], ...]

    @classmethod
    def of(cls, argument: Any) -> "_Types":
        """Return the types of a sample."""
        leaves = _leaves(argument) if isinstance(argument, tuple) else [argument]
        return cls(
            tuple(
                (leaf.dtype, leaf.ndim, None) if isinstance(leaf, np.ndarray) else (None, 0, type(leaf))
                for leaf in leaves
            )
        )


class _Packer:
    """Cuts arguments of some types into numbers of eight bytes each."""

    def __init__(self, types: _Types) -> None:
        self._types = types.leaves
        formats = [
            "q" * (5 + 2 * dimensions) if number is None else "d" if number is float else "q"
            for _, dimensions, number in self._types
        ]
        self._struct = struct.Struct("=" + "".join(formats))

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
        numbers: list[Any] = []
        leaves = _leaves(argument) if isinstance(argument, tuple) else (argument,)
        for leaf, (dtype, dimensions, number) in zip(leaves, self._types, strict=True):
            if number is not None:
                numbers.append(number(leaf))
                continue
            # What is not of its type would be read past its end.
            if leaf.dtype != dtype or leaf.ndim != dimensions or not leaf.flags.c_contiguous:
                raise TypeError(f"a kernel takes an array of {dtype}, not of {leaf.dtype}")
            address = _address_at(id(leaf) + _HEAD_BYTES).value or 0
            numbers += (0, 0, leaf.size, leaf.itemsize, address, *leaf.shape, *leaf.strides)
        return self._struct.pack(*numbers)


# One for all kernels that take the same: what lasts is packed once for all of them.
_packer_of = functools.cache(_Packer)


def load_kind(kind: Kind, code: Mapping[str, NativeCode]) -> dict[str, NativeKernel]:
    """Return the kernels of a kind by their names; takes some milliseconds.

    Raises:
        KeyError: the code lacks one of them.
    """
    return {name: NativeKernel(code[name], sample) for name, sample in samples_of(kind).items()}


def _leaves(arguments: tuple[Any, ...]) -> list[Any]:
    leaves: list[Any] = []
    for argument in arguments:
        if isinstance(argument, tuple):
            leaves += _leaves(argument)
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
