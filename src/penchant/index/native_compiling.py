"""Native compiling: machine code of the kernels, made by numba, which nothing that only runs it has to import.

A kernel is compiled for the types of sample arguments, without what Python would need to call it: that takes a third of
the time, and `penchant.index.native_kernels` calls it by address.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numba
from numba.core.compiler import Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from penchant.index import kernels, list_kernels, reading_kernels, ridge_kernels, string_kernels, taste_kernels
from penchant.index.kernel_samples import Kind, samples_of
from penchant.index.native_kernels import NativeCode, native_code

_KERNELS: Mapping[str, Callable[..., None]] = {
    "find": string_kernels.find,
    "read": reading_kernels.read,
    "rehash": reading_kernels.rehash,
    "transpose": reading_kernels.transpose,
    "nearest": kernels.nearest,
    "best": kernels.best,
    "neighbours": ridge_kernels.neighbours,
    "triangles": ridge_kernels.triangles,
    "solve": ridge_kernels.solve,
    "stand_ins": ridge_kernels.stand_ins,
    "likeness_squares": ridge_kernels.likeness_squares,
    "shares": ridge_kernels.shares,
    "lists": list_kernels.lists,
    "tastes": taste_kernels.tastes,
}


def compile_kind(kind: Kind) -> dict[str, NativeCode]:
    """Return the code of the kernels of a kind by their names, for this machine's processor. Takes up to 2 s."""
    return {name: _compiled(_KERNELS[name], arguments) for name, arguments in samples_of(kind).items()}


def _compiled(kernel: Callable[..., None], arguments: tuple[Any, ...]) -> NativeCode:
    flags: Any = Flags()
    # No reference counts, nothing for Python: the code stands alone.
    flags.nrt, flags.no_compile, flags.no_cpython_wrapper, flags.no_cfunc_wrapper = False, True, True, True
    flags.error_model = "numpy"
    typing, target = cpu_target.typing_context, cpu_target.target_context
    typing.refresh()
    target.refresh()
    types = tuple(numba.typeof(argument) for argument in arguments)
    compiled = compile_extra(typing, target, kernel, types, numba.types.none, flags, {})
    with global_compiler_lock:
        # Links what the kernel calls, and makes it all fast as one.
        compiled.library.finalize()
    module = compiled.library._final_module  # noqa: SLF001  # numba tells it nowhere else
    code = target.codegen()._tm.emit_object(module)  # noqa: SLF001  # for the processor that numba compiles for
    return native_code(compiled.fndesc.llvm_func_name, code)
