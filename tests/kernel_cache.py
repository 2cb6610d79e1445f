"""Kernel cache: one folder of compiled kernels for all tests of a machine, so that they are compiled once."""

import hashlib
import os
from pathlib import Path

import penchant.index


def _fingerprint() -> str:
    files = sorted(Path(penchant.index.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


KERNELS = Path("/var/tmp") / f"penchant-kernels-{os.getuid()}-{_fingerprint()}"  # noqa: S108  # the user's own
"""The folder, which outlives a run of the tests; another one once any file of the index has changed."""
