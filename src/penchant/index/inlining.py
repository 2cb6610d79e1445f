"""Inlining: how functions that kernels call are compiled, as a part of the kernel that calls them."""

from numba.extending import register_jitable

inlined = register_jitable(_nrt=False, error_model="numpy", no_cfunc_wrapper=True)
"""Marks a function that kernels call: it allocates nothing, divides by zero as numpy does, and is called by no C."""
