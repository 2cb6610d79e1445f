"""The compiled kernels, for tests that want them."""

from collections.abc import Iterator
from types import ModuleType

import pytest

from kernel_cache import KERNELS
from penchant.index import engine
from penchant.live.compiling import load_kernels

KINDS = (*engine.KINDS, ("h", "H"), ("i", "H"), ("d", "H"))


@pytest.fixture(scope="module")
def kernels() -> Iterator[ModuleType]:
    compiled = load_kernels(KERNELS)
    engine.use(compiled, set(KINDS))
    yield compiled
    engine.use(None, set())
