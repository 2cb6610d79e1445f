"""Loss of power: of a recorded service any disk that a cut may leave holds what was acknowledged, and is served."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from acceptance.processes import wait_until
from faults.campaign import is_full, say
from faults.checker import Checker, Findings
from faults.client import Answer, Client
from faults.cuts import Disk, put_down
from faults.ledger import Ledger, Thing, replayed
from faults.load import Load, Size, Target, preload
from faults.node import Node
from faults.recording import Record, Recording
from kernel_cache import KERNELS
from penchant.bootstrap import index_folder, storage_of, web_application
from penchant.errors import PenchantError
from penchant.live.builder import SMALLEST_FILE
from penchant.live.checking import index_problems
from penchant.settings import NodeSettings
from penchant.storage.upkeep.backup import restore
from serving import PromptClient

pytestmark = [pytest.mark.stress, pytest.mark.timeout(7_200)]

CUTS = 1_000 if is_full() else 30
PLANTED_CUTS = 60
"""A planted fault is looked for in so many cuts at most: one shows in every second one or so."""
RUNNING_S = 20.0 if is_full() else 1.0
SERVED = 50 if is_full() else 30
"""After every so many cuts the disk is served by processes of its own, too."""
SEED = 20_261_124
DATA = "data"
BACKUP = "copy.db"
MAPPED = ("usage.map", "rates.map", "address-rates.map")
TELLING = {"E", "F", "R", "U", "T", "C"}
"""Kinds of records behind which cuts are worth more."""
NEAR = 300
"""Records behind a renamed file within which a third of the cuts are made: renames are few."""
LATER = Thing("s0", "trio", "later")
"""What is stored after the last backup: a restore takes it back."""

Marks = Sequence[Mapping[str, Any]]


class Asked:
    """A service in this process, asked as one elsewhere is; nothing of it comes later."""

    def __init__(self, client: httpx.Client, key: str) -> None:
        self._client = client
        self._key = key

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """Return what is answered."""
        got = self._client.request(method, path, json=body, headers={"x-api-key": self._key})
        is_missing = got.status_code == 404 and got.json()["code"] == "unknown-piece"
        assert got.status_code in {200, 202} or is_missing, f"{method} {path}: {got.status_code} {got.text}"
        return Answer(got.status_code, got.headers, got.content)


@dataclass
class Found:
    """What came of cuts."""

    cuts: int = 0
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def note(self, kind: str, problem: str) -> None:
        """Count a problem."""
        self.counts[kind] += 1
        self.problems.append(f"cut {self.cuts}: {kind}: {problem}")


class Recorded:
    """A service that was recorded from the making of its folder on, under a mixed load, with backups and a restore."""

    def __init__(self, folder: Path, running_s: float) -> None:
        self.recording = Recording(folder)
        self.data = self.recording.root / DATA
        self.copy = self.recording.root / BACKUP
        self.key = re.findall(r"^\s*(pk_\S+)", self._command("keys", "create"), re.MULTILINE)[0]
        self.recording.mark(done="key")
        node = Node(self.data, key=self.key, environment=self.recording.environment())
        try:
            target = Target([node.port], self.key)
            preload(target, target.sources[0], SMALLEST_FILE + 500)
            ledger = Ledger(self.recording.mark)
            load = Load(target, Size(writers=3 if is_full() else 2, readers=1), ledger)
            try:
                self._run(node, time.monotonic() + running_s)
            finally:
                load.close()
            assert load.findings.faults == 0, load.findings.examples
            self._back_up()
            self.recording.mark(done="last backup")
            self._change_later(target, ledger)
            assert node.stop() == 0
        finally:
            node.kill()
        self.recording.mark(begun="restore")
        self._command("restore", "--force", str(self.copy))
        self.recording.mark(done="restore")
        self.changes = ledger.changes

    def _run(self, node: Node, ending: float) -> None:
        """Make backups, read the settings anew, and keep what mapped files hold, until the end; one round at least."""
        wait_until(lambda: any((self.data / "index").glob("*/*.segment")))
        while True:
            self._back_up()
            assert node.process is not None
            node.process.send_signal(signal.SIGHUP)
            for name in MAPPED:
                self.recording.keep(self.data / name)
            if time.monotonic() > ending:
                return
            time.sleep(0.5)

    def _back_up(self) -> None:
        self._command("backup", "--force", str(self.copy))
        self.recording.mark(done="backup")

    def _change_later(self, target: Target, ledger: Ledger) -> None:
        client = Client(target.ports, target.key)
        place = ledger.history(LATER).begin(1)
        answer = client.ask("POST", f"/{LATER.source}/content", LATER.pieces(1))
        assert ledger.acknowledge(LATER.source, answer.json()["version"])
        ledger.history(LATER).acknowledge(place)
        client.close()

    def _command(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "penchant", *words, "--data", str(self.data)],
            env=os.environ | self.recording.environment(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def promised(marks: Marks) -> Ledger:
    """Return the ledger that holds after marks: a restore that has begun may have put all back, once done it has."""
    if {"begun": "restore"} not in marks:
        return replayed(marks)
    ledger = replayed(marks[: marks.index({"done": "last backup"})])
    history = ledger.history(LATER)
    history.begin(1)
    if {"done": "restore"} in marks:
        history.settle(None)
    return ledger


class Inspector:
    """Looks at what cuts leave."""

    def __init__(self, key: str, folder: Path) -> None:
        self.found = Found()
        self._key = key
        self._folder = folder

    def inspect(self, disk: dict[str, bytes | None], marks: Marks) -> None:
        """Look whether a disk holds what was acknowledged before, and is served."""
        self.found.cuts += 1
        folder = self._folder / f"cut-{self.found.cuts}"
        put_down(disk, folder)
        try:
            self._look(folder, marks)
        except (PenchantError, AssertionError, OSError) as error:
            self.found.note("broken", f"{type(error).__name__}: {error}"[:500])
        finally:
            shutil.rmtree(folder)

    def _look(self, folder: Path, marks: Marks) -> None:
        copy = folder / BACKUP
        if copy.exists():
            restore(copy, folder / "restored", replace=False)
        elif {"done": "backup"} in marks:
            self.found.note("lost", "the backup")
        settings = NodeSettings(data=str(folder / DATA), kernel_folder=str(KERNELS))
        with closing(storage_of(settings)) as storage:
            for problem in storage.upkeep.check() or index_problems(storage, index_folder(settings)):
                self.found.note("unsound", problem)
        if {"done": "key"} not in marks:
            return
        with PromptClient(web_application(settings)) as client:
            self._compare(Asked(client, self._key), marks)
        if self.found.cuts % SERVED == 0:
            self._serve(folder / DATA)

    def _compare(self, asked: Asked, marks: Marks) -> None:
        ledger = promised(marks)
        findings = Findings()
        Checker(ledger, findings).compare([asked], [each for each in Target([], "").sources if ledger.version(each)])
        for example in findings.examples:
            self.found.note(*example.split(": ", 1))
        thing = Thing("s0", "trio", "after")
        asked.ask("POST", "/s0/content", thing.pieces(0))
        assert [each["id"] for each in asked.ask("GET", "/s0/content/after-a/similar").json()["content"]][:2] == [
            "after-b",
            "after-c",
        ]

    def _serve(self, data: Path) -> None:
        node = Node(data, key=self._key)
        try:
            assert node.stop() == 0
            node.check()
        finally:
            node.kill()


def cut(recorded: Recorded, folder: Path, cuts: int) -> Found:
    """Cut the power of what was recorded so many times, and look at what that may leave."""
    chance = Random(SEED)
    records = list(recorded.recording.records())
    telling = [place for place, record in enumerate(records) if record.kind in TELLING]
    renames = [place for place, record in enumerate(records) if record.kind == "R"]
    places = Counter[int]()
    for _ in range(cuts):
        near = min(len(records) - 1, chance.choice(renames) + chance.randint(0, NEAR))
        places[chance.choice((near, chance.choice(telling), chance.randrange(len(records))))] += 1
    inspector = Inspector(recorded.key, folder)
    for place, disk, marks in played(records):
        for _ in range(places[place]):
            inspector.inspect(disk.after_cut(chance), marks)
    return inspector.found


def played(records: Sequence[Record]) -> Iterator[tuple[int, Disk, Marks]]:
    """Yield the disk and the marks so far behind each record."""
    disk, marks = Disk(), list[Mapping[str, Any]]()
    for place, record in enumerate(records):
        if record.kind == "A":
            marks.append(record.mark())
        else:
            disk.take(record)
        yield place, disk, marks


def cut_unsynced(recorded: Recorded, folder: Path, unsynced: str) -> Found:
    """Cut the power, a fault being planted, until that shows: files whose path holds ``unsynced`` were not synced."""
    chance = Random(SEED)
    everything = list(recorded.recording.records())
    left_out = [each.kind in {"B", "E"} and unsynced in each.path for each in everything]
    records = [each for each, is_out in zip(everything, left_out, strict=True) if not is_out]
    first = left_out.index(True)
    places = sorted(chance.randrange(first, len(records)) for _ in range(PLANTED_CUTS))
    inspector = Inspector(recorded.key, folder)
    for place, disk, marks in played(records):
        if place in places:
            inspector.inspect(disk.after_cut(chance), marks)
            if inspector.found.problems:
                break
    return inspector.found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("power") / "recorded", RUNNING_S)


def test_the_recording_has_all_that_was_written(recorded: Recorded) -> None:
    disk = Disk()
    for record in recorded.recording.records():
        if record.kind != "A":
            disk.take(record)
    whole = disk.whole()
    root = recorded.recording.root

    assert {str(path.relative_to(root)) for path in root.rglob("*") if path.suffix != ".log"} == whole.keys()
    files = {path: content for path, content in whole.items() if content is not None and not disk.is_mapped(path)}
    assert [path for path, content in files.items() if (root / path).read_bytes() != content] == []


def test_no_cut_of_power_loses_what_was_acknowledged(recorded: Recorded, tmp_path: Path) -> None:
    found = cut(recorded, tmp_path, CUTS)

    say(f"{found.cuts} cuts of power, {recorded.changes} changes: {dict(found.counts) or 'nothing lost, all sound'}")
    assert found.problems == []


@pytest.mark.parametrize("unsynced", ("penchant.db-wal", ".tmp", ".unfinished"))
def test_files_that_are_not_synced_are_found_by_cuts(recorded: Recorded, tmp_path: Path, unsynced: str) -> None:
    found = cut_unsynced(recorded, tmp_path, unsynced)

    say(f"{unsynced} not synced: found by cut {found.cuts}: {dict(found.counts)}")
    assert found.problems != []
