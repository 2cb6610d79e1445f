"""Native compiling: machine code of the kernels, made by numba, which nothing that only runs it has to import.

A kernel is compiled for the types of sample arguments, without what Python would need to call it: that takes a third of
the time, and `native_kernels` calls it by address. Nothing of it is run by the compiler, so nothing is
made ready to be run, and functions that kernels call are optimized as parts of these alone.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core.codegen import AOTCodeLibrary, JITCPUCodegen
from numba.core.compiler import Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from penchant_engine.index.compiled import kernels, order_kernels, people_kernels, ridge_kernels, taste_kernels
from penchant_engine.index.compiled.native_kernels import ARRAY_HEAD, ENTRY, NativeCode, leaves_of
from penchant_engine.index.compiled.samples import Kind, samples_of

_KERNELS: Mapping[str, Callable[..., None]] = {
    "find": kernels.find,
    "transpose": kernels.transpose,
    "nearest": kernels.nearest,
    "best": kernels.best,
    "dots": kernels.dots,
    "neighbours": ridge_kernels.neighbours,
    "triangles": ridge_kernels.triangles,
    "solve": ridge_kernels.solve,
    "stand_ins": ridge_kernels.stand_ins,
    "likeness_squares": ridge_kernels.likeness_squares,
    "shares": ridge_kernels.shares,
    "successors": order_kernels.successors,
    "facts": taste_kernels.facts,
    "taste": taste_kernels.taste,
    "tastes": taste_kernels.tastes,
    "best_of_many": people_kernels.best_of_many,
}


class _KernelLibrary(AOTCodeLibrary):  # type: ignore[misc]  # numba has no types
    """The code of a kernel, or of a function that kernels call."""

    def optimize(self) -> None:
        """Make a kernel fast, as one with all that it calls."""
        super()._optimize_final_module()

    def _optimize_final_module(self) -> None:
        """Leave a function as it is: numba would optimize it here, and once more in each kernel that calls it."""

    def get_pointer_to_function(self, _name: str) -> int:
        """Return no address: numba asks for one, to call a function from Python."""
        return 0


class _KernelCodegen(JITCPUCodegen):  # type: ignore[misc]
    """What makes code for this machine's processor, and loads none of it."""

    _library_class = _KernelLibrary

    def _add_module(self, _module: Any) -> None:
        """Keep a module out of LLVM's engine, which would make machine code of it a second time."""

    def set_env(self, _name: str, _environment: Any) -> None:
        """Set no environment of Python's."""


@functools.cache
def _contexts() -> tuple[Any, Any]:
    """Return what numba looks types and functions up in, and what it makes code with: of this process, from now on."""
    typing, target = cpu_target.typing_context, cpu_target.target_context
    typing.refresh()
    target.refresh()
    target._internal_codegen = _KernelCodegen("penchant.kernels")  # noqa: SLF001  # numba takes it from nowhere else
    return typing, target


def compile_kind(kind: Kind) -> dict[str, NativeCode]:
    """Return the code of the kernels of a kind by their names, for this machine's processor. Takes up to 1.5 s."""
    return {name: _compiled(_KERNELS[name], arguments) for name, arguments in samples_of(kind).items()}


def _compiled(kernel: Callable[..., None], arguments: tuple[Any, ...]) -> NativeCode:
    flags: Any = Flags()
    # No reference counts, nothing for Python: the code stands alone.
    flags.nrt, flags.no_compile, flags.no_cpython_wrapper, flags.no_cfunc_wrapper = False, True, True, True
    flags.error_model = "numpy"
    typing, target = _contexts()
    types = tuple(numba.typeof(argument) for argument in arguments)
    compiled = compile_extra(typing, target, kernel, types, numba.types.none, flags, {})
    with global_compiler_lock:
        # Links what the kernel calls.
        compiled.library.finalize()
        compiled.library.optimize()
    module = compiled.library._final_module  # noqa: SLF001  # numba tells it nowhere else
    module.link_in(_entry_of(module, compiled.fndesc.llvm_func_name, leaves_of(arguments)))
    code = target.codegen()._tm.emit_object(module)  # noqa: SLF001  # for the processor that numba compiles for
    return NativeCode(symbol=ENTRY, code=code)


def _entry_of(module: Any, kernel: str, leaves: Sequence[Any]) -> Any:
    """Return a module with the function that Python calls: it takes the arguments of a kernel out of memory.

    One argument instead of a hundred and more: each costs Python a tenth of a microsecond.
    """
    types = [str(argument.type) for argument in module.get_function(kernel).arguments]
    lines = [f'target triple = "{module.triple}"', f'target datalayout = "{module.data_layout}"']
    lines += [f'declare i32 @"{kernel}"({", ".join(types)})', f'define void @"{ENTRY}"(ptr %packed) {{']
    # Both places that numba's functions return by (`native_kernels`), and then what is packed.
    lines += ["%ignored = alloca [2 x i64]", "%v0 = getelementptr i64, ptr %ignored, i64 0"]
    lines += ["%v1 = getelementptr i64, ptr %ignored, i64 1"]
    passed = ["ptr %v0", "ptr %v1"]
    for number, leaf in enumerate(leaves):
        lines += [f"%p{number} = getelementptr i64, ptr %packed, i64 {number}"]
        if isinstance(leaf, np.ndarray):
            own, more = _array_lines(f"%a{number}", f"%p{number}", leaf)
            lines, passed = lines + more, passed + own
        else:
            kind = types[len(passed)]
            lines += [f"%n{number} = load {kind}, ptr %p{number}"]
            passed += [f"{kind} %n{number}"]
    lines += [f'call i32 @"{kernel}"({", ".join(passed)})', "ret void", "}"]
    return llvm.parse_assembly("\n".join(lines))


def _array_lines(name: str, place: str, sample: np.ndarray[Any, Any]) -> tuple[list[str], list[str]]:
    """Return what a kernel is passed of an array whose object's address is at a place, and the lines that read it."""
    lines = [f"{name} = load ptr, ptr {place}"]
    for field, offset in ARRAY_HEAD.items():
        lines += [f"{name}.{field}.at = getelementptr i8, ptr {name}, i64 {offset}"]
        lines += [f"{name}.{field} = load ptr, ptr {name}.{field}.at"]
    numbers, items = [], "1"
    for field in ("shape", "strides"):
        for axis in range(sample.ndim):
            number = f"{name}.{field}.{axis}"
            lines += [f"{number}.at = getelementptr i64, ptr {name}.{field}, i64 {axis}"]
            lines += [f"{number} = load i64, ptr {number}.at"]
            numbers.append(f"i64 {number}")
            if field == "shape":
                lines += [f"{name}.items.{axis} = mul i64 {items}, {number}"]
                items = f"{name}.items.{axis}"
    # Owner, parent, items, bytes of an item, address, shape, strides.
    own = ["ptr null", "ptr null", f"i64 {items}", f"i64 {sample.itemsize}", f"ptr {name}.data", *numbers]
    return own, lines
