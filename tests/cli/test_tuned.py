"""What tuning replaced is kept, and nobody's change is lost by it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penchant.errors import Refused, UnknownSource
from penchant.model import SourceSettings
from penchant.storage import Storage, SubmitPieces, open_storage
from penchant_engine.model import InteractionType
from penchant_lab.commands import tune
from penchant_lab.commands.tune import TunedSource
from penchant_lab.metrics import Estimate
from penchant_lab.tuning import TuningResult

DEFAULTS = SourceSettings()


def days(number: int) -> SourceSettings:
    return SourceSettings(half_life_days=number)


def judged(before: SourceSettings, after: SourceSettings, people: int = 200, low: float = 0.01) -> TuningResult:
    """Return a result of tuning, without objections but for what is given."""
    gain = Estimate(0.05, low, 0.09)
    return TuningResult(
        before=before,
        settings=after,
        tried=60,
        validation_people=100,
        test_people=people,
        validation_gain=gain,
        sure_gain=0.01,
        test_before=Estimate(0.1, 0.05, 0.15),
        test_after=Estimate(0.15, 0.1, 0.2),
        gain=gain,
        full_like="",
    )


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
    source.apply(judged(DEFAULTS, days(10)))
    source.apply(judged(days(10), days(20)))

    assert source.settings() == days(20)
    source.roll_back(force=False)
    assert source.settings() == days(10)
    source.roll_back(force=False)
    assert source.settings() == DEFAULTS
    with pytest.raises(Refused, match="No tuned settings of 's' were applied"):
        source.roll_back(force=True)


def test_settings_that_changed_while_others_were_tried_stay(source: TunedSource) -> None:
    source.apply(judged(DEFAULTS, days(10)))

    with pytest.raises(Refused, match="changed meanwhile"):
        source.apply(judged(DEFAULTS, days(30)))

    assert source.settings() == days(10)


@pytest.mark.parametrize(
    ("result", "why"),
    (
        (judged(DEFAULTS, days(10), people=21), "21 people can judge; 200 are needed"),
        (judged(DEFAULTS, days(10), low=-0.0793), "the whole interval has to lie above 0"),
        (judged(DEFAULTS, DEFAULTS), "No other settings did better"),
        (
            judged(DEFAULTS, SourceSettings(interaction_weights={InteractionType.WATCH: 0})),
            "Watch weighs 0; only weights above 0 are proposed for it",
        ),
    ),
)
def test_settings_with_an_objection_are_not_put_in_force(
    source: TunedSource, tmp_path: Path, result: TuningResult, why: str
) -> None:
    with pytest.raises(Refused, match=why):
        source.apply(result)

    assert source.settings() == DEFAULTS
    assert not (tmp_path / tune.FOLDER).exists()


def test_so_many_changes_are_kept(source: TunedSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "MOST", 2)
    for number in range(1, 5):
        source.apply(judged(source.settings(), days(number)))

    source.roll_back(force=False)
    source.roll_back(force=False)

    assert source.settings() == days(2)
    with pytest.raises(Refused):
        source.roll_back(force=False)


def test_a_file_that_cannot_be_read_is_told_and_left(source: TunedSource, tmp_path: Path) -> None:
    source.apply(judged(DEFAULTS, days(10)))
    (file,) = (tmp_path / tune.FOLDER).iterdir()
    file.write_text("[{")

    with pytest.raises(Refused, match="cannot be read"):
        source.roll_back(force=False)

    assert file.read_text() == "[{"
    assert source.settings() == days(10)


def test_only_its_owner_can_read_the_file(source: TunedSource, tmp_path: Path) -> None:
    source.apply(judged(DEFAULTS, days(10)))

    assert (tmp_path / tune.FOLDER).stat().st_mode & 0o077 == 0


def test_a_source_that_is_not_there_has_none(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(UnknownSource):
        TunedSource(storage, tmp_path, "default", "t")
    with pytest.raises(UnknownSource):
        TunedSource(storage, tmp_path, "nobody", "s")
