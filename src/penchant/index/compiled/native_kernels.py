"""Native kernels: compiled code, loaded by llvmlite and called by address, without the rest of a compiler.

A kernel is called as numba's functions call each other: a place for its result, one for an error, then every argument,
cut into numbers. A tuple is its members; an array is

    owner   parent   items   bytes of an item   address   shape, a number each   strides, a number each

Both places are ignored: kernels return nothing and raise nothing.
"""

import ctypes
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from penchant.index.compiled.samples import Kind, samples_of

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
        leaves = _leaves(sample)
        numbers = [kind for leaf in leaves for kind in _number_types(leaf)]
        # By argument the type and dimensions of an array, or what makes a number of it.
        self._types = tuple(
            (leaf.dtype, leaf.ndim, None) if isinstance(leaf, np.ndarray) else (None, 0, type(leaf)) for leaf in leaves
        )
        signature = (ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *numbers)
        self._function = ctypes.CFUNCTYPE(*signature)(address)
        self._quick_function = ctypes.PYFUNCTYPE(*signature)(address)
        self._ignored = (ctypes.c_uint64 * 2)()
        self._place = ctypes.addressof(self._ignored)

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel.

        Raises:
            TypeError: an argument is not of the type that the code is for.
        """
        self._function(*self._numbers(arguments))

    def quickly(self, *arguments: Any) -> None:
        """Run the kernel for some microseconds with the interpreter's lock: to give that away can take longer.

        Raises:
            TypeError: as `__call__`.
        """
        self._quick_function(*self._numbers(arguments))

    def _numbers(self, arguments: tuple[Any, ...]) -> list[Any]:
        """Return what the code is called with: both places, and the arguments cut into numbers."""
        numbers: list[Any] = [self._place, self._place + 8]
        for leaf, (dtype, dimensions, number) in zip(_leaves(arguments), self._types, strict=True):
            if number is not None:
                numbers.append(number(leaf))
                continue
            # What is not of its type would be read past its end.
            if leaf.dtype != dtype or leaf.ndim != dimensions or not leaf.flags.c_contiguous:
                raise TypeError(f"a kernel takes an array of {dtype}, not of {leaf.dtype}")
            address = _address_at(id(leaf) + _HEAD_BYTES).value
            numbers += (None, None, leaf.size, leaf.itemsize, address, *leaf.shape, *leaf.strides)
        return numbers


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


def _number_types(leaf: Any) -> list[Any]:
    if isinstance(leaf, np.ndarray):
        head = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
        return head + [ctypes.c_int64] * (2 * leaf.ndim)
    return [ctypes.c_double if isinstance(leaf, float) else ctypes.c_int64]


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
