"""The compiled kernels, for tests that want them."""

from collections.abc import Iterator
from types import ModuleType

import pytest

from penchant.index import engine
from penchant.live.compiling import load_kernels

KINDS = (*engine.KINDS, ("h", "H"), ("i", "H"), ("d", "H"))


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    compiled = load_kernels(tmp_path_factory.getbasetemp() / "kernels")
    engine.use(compiled, set(KINDS))
    yield compiled
    engine.use(None, set())
