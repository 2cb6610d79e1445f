"""Sharing of tests over processes (``-n``): whole files, those that take longest first, some folders' to one process.

What a file starts is started once, and what a folder of `TOGETHER` builds. Nodes of two Ray clusters on one machine
would take each other's ports and memory.
"""

from collections.abc import Iterable

import pytest
from xdist.scheduler import LoadScopeScheduling

TOGETHER = ("cluster", "clients")
"""Folders whose files one process has: nodes of a cluster, and clients that are built once."""
LONGEST = (
    "tests/system/acceptance/test_dashboard.py",
    "clients",
    "tests/documents/test_every_block.py",
    "tests/system/acceptance/test_schema_fuzzing.py",
    "tests/system/acceptance/test_bench.py",
    "tests/system/acceptance/test_editors_tasks.py",
    "tests/system/acceptance/test_dashboard_rows.py",
    "tests/evaluation/test_tuning.py",
    "cluster",
    "tests/system/acceptance/test_nodes.py",
    "tests/system/acceptance/test_workers.py",
    "tests/cli/test_tune.py",
    "tests/cli/test_evaluate.py",
    "packages/penchant-import/tests/test_bounds.py",
    "tests/system/acceptance/test_likes_processes.py",
    "tests/system/acceptance/test_index_processes.py",
    "tests/system/hostile/test_churn.py",
    "tests/system/hostile/test_fuzzing.py",
    "tests/system/faults/test_database.py",
    "tests/system/faults/test_promotion.py",
    "tests/system/faults/test_histories.py",
    "tests/system/faults/test_power.py",
    "tests/system/acceptance/test_process.py",
)
"""What takes a minute and more, longest first: begun late, one of them would run alone at the end."""


class FileScheduler(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives a process the next file once it has nearly done what it has, in the order in which tests are collected."""

    def __init__(self, config: pytest.Config, log: object) -> None:
        super().__init__(config, log)
        # It would go by the number of tests, which says nothing about their time.
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid.partition("::")[0])


def unit_of(file: str) -> str:
    """Return what is given to one process as a whole: a file, or all those of a folder that shares more than files."""
    return next((folder for folder in TOGETHER if file.startswith(f"tests/system/{folder}/")), file)


def in_order(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return tests in the order in which they are begun: what takes longest, other files with slow ones, the rest."""
    items = list(items)
    units = {item.path: unit_of(item.nodeid.partition("::")[0]) for item in items}
    slow = {units[item.path] for item in items if item.get_closest_marker("slow")}
    places = {unit: place for place, unit in enumerate(LONGEST) if unit in slow}
    return sorted(items, key=lambda item: (places.get(units[item.path], len(LONGEST)), units[item.path] not in slow))
