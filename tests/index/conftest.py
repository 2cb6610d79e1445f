"""The compiled kernels, for tests that want them."""

from collections.abc import Iterator, Mapping

import pytest

from kernel_cache import KERNELS
from penchant_engine.compiling import load_kernels
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import SERVED, Kind

Kernels = Mapping[Kind, Mapping[str, engine.Kernel]]


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Begin with numpy, which says what is right."""
    engine.use({})


@pytest.fixture(scope="module")
def kernels() -> Iterator[Kernels]:
    loaded = {kind: load_kernels(KERNELS, kind) for kind in SERVED}
    engine.use(loaded)
    yield loaded
    engine.use({})


@pytest.fixture(params=["numpy", "compiled"])
def searching(request: pytest.FixtureRequest) -> None:
    """By numpy, and by kernels."""
    # Each time: the kernels of a file are made ready once, and a test by numpy before puts them away.
    engine.use(request.getfixturevalue("kernels") if request.param == "compiled" else {})
