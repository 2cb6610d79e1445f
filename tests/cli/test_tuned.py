"""What tuning replaced is kept, and nobody's change is lost by it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penchant.cli import tuned
from penchant.cli.tuned import TunedSource
from penchant.errors import Refused, UnknownSource
from penchant.model import SourceSettings
from penchant.storage import Storage, SubmitPieces, open_storage

DEFAULTS = SourceSettings()


def days(number: int) -> SourceSettings:
    return SourceSettings(half_life_days=number)


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    opened = open_storage(folder=tmp_path)
    opened.submit(SubmitPieces(account_id=opened.accounts.ensure("default"), source="s", pieces=())).result()
    yield opened
    opened.close()


@pytest.fixture
def source(storage: Storage, tmp_path: Path) -> TunedSource:
    return TunedSource(storage, tmp_path, "default", "s")


def test_changes_are_taken_back_one_by_one(source: TunedSource) -> None:
    source.apply(DEFAULTS, days(10))
    source.apply(days(10), days(20))

    assert source.settings() == days(20)
    source.roll_back(force=False)
    assert source.settings() == days(10)
    source.roll_back(force=False)
    assert source.settings() == DEFAULTS
    with pytest.raises(Refused, match="No tuned settings of 's' were applied"):
        source.roll_back(force=True)


def test_settings_that_changed_while_others_were_tried_stay(source: TunedSource) -> None:
    source.apply(DEFAULTS, days(10))

    with pytest.raises(Refused, match="changed meanwhile"):
        source.apply(DEFAULTS, days(30))

    assert source.settings() == days(10)


def test_so_many_changes_are_kept(source: TunedSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned, "MOST", 2)
    for number in range(1, 5):
        source.apply(source.settings(), days(number))

    source.roll_back(force=False)
    source.roll_back(force=False)

    assert source.settings() == days(2)
    with pytest.raises(Refused):
        source.roll_back(force=False)


def test_a_file_that_cannot_be_read_is_told_and_left(source: TunedSource, tmp_path: Path) -> None:
    source.apply(DEFAULTS, days(10))
    (file,) = (tmp_path / tuned.FOLDER).iterdir()
    file.write_text("[{")

    with pytest.raises(Refused, match="cannot be read"):
        source.roll_back(force=False)

    assert file.read_text() == "[{"
    assert source.settings() == days(10)


def test_only_its_owner_can_read_the_file(source: TunedSource, tmp_path: Path) -> None:
    source.apply(DEFAULTS, days(10))

    assert (tmp_path / tuned.FOLDER).stat().st_mode & 0o077 == 0


def test_a_source_that_is_not_there_has_none(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(UnknownSource):
        TunedSource(storage, tmp_path, "default", "t")
    with pytest.raises(UnknownSource):
        TunedSource(storage, tmp_path, "nobody", "s")
