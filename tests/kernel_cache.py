"""Kernel cache: one folder of compiled kernels for all tests of a machine, so that they are compiled once."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import penchant_engine.index
from penchant_engine.compiling import is_compiled, load_kernels
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import SERVED, Kind


def _fingerprint() -> str:
    files = sorted(Path(penchant_engine.index.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


KERNELS = Path("/var/tmp") / f"penchant-kernels-{os.getuid()}-{_fingerprint()}"  # noqa: S108  # the user's own
"""The folder, which outlives a run of the tests; another one once any file of the index has changed."""

_LOADED: dict[Kind, Mapping[str, engine.Kernel]] = {}


def use_kernels() -> None:
    """Search in this process by the kernels that some test has compiled, as a service does; until then by numpy."""
    for kind in SERVED:
        if kind not in _LOADED and is_compiled(KERNELS, kind):
            _LOADED[kind] = load_kernels(KERNELS, kind)
    engine.use(_LOADED)
