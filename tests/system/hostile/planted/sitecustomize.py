"""Planted faults: what a service does wrong that is started with this folder on ``PYTHONPATH``.

Python imports this module by its name when it starts, in each process of the service. It changes three functions right
after their modules are imported, so that `hostile.fuzzing` has something to find that nobody who tries it by hand does.
"""

import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

BURNT_S = 1.5
"""CPU seconds that objects cost."""


def _fail_on_great_numbers(module: ModuleType) -> None:
    """Have settings with a number near the end of doubles or past it end in an error that nobody has thought of."""
    decode: Callable[[bytes], Any] = module.decode_settings

    def decode_settings(body: bytes) -> Any:
        if b"1e30" in body:
            raise OverflowError("planted")
        return decode(body)

    module.decode_settings = decode_settings  # type: ignore[attr-defined]  # that is what planting is


def _dawdle_over_objects(module: ModuleType) -> None:
    """Have objects in place of ids take long to be refused."""
    decode: Callable[[bytes], Any] = module.decode_ids

    def decode_ids(body: bytes) -> Any:
        until = time.thread_time() + (BURNT_S if b"{" in body else 0)
        while time.thread_time() < until:
            pass
        return decode(body)

    module.decode_ids = decode_ids  # type: ignore[attr-defined]  # as above


def _take_words_for_numbers(module: ModuleType) -> None:
    """Have a field of a form of the dashboard take any text for a number, as 0.1.0 did with ``--5``."""
    number: Callable[[str], Any] = module.number_in

    def number_in(text: str) -> Any:
        return int(text) if text.strip() else number(text)

    module.number_in = number_in  # type: ignore[attr-defined]  # as above


_FAULTS = {
    "penchant.web.curation": _fail_on_great_numbers,
    "penchant.web.content": _dawdle_over_objects,
    "penchant_desk.requests": _take_words_for_numbers,
}


class _PlantingLoader(Loader):
    """Loads a module, and changes it."""

    def __init__(self, loader: Loader, plant: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._plant = plant

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Make the module as it would have been made."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, and plant its fault."""
        self._loader.exec_module(module)
        self._plant(module)


class _PlantingFinder(MetaPathFinder):
    """Finds the modules that get a fault, each once."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return how to import a module with its fault; ``None`` for all others."""
        del path, target
        plant = _FAULTS.pop(name, None)
        # Found by the other finders now: this one knows the name no more.
        spec = None if plant is None else importlib.util.find_spec(name)
        if plant is None or spec is None or spec.loader is None:
            return None
        spec.loader = _PlantingLoader(spec.loader, plant)
        return spec


sys.meta_path.insert(0, _PlantingFinder())
