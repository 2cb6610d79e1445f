"""A watched file is read once for each time that it is replaced."""

from pathlib import Path

import pytest

from penchant.watched_file import WatchedFile, replace_file


def test_what_is_written_is_found_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    watched, other = WatchedFile(path), WatchedFile(path)
    assert watched.newer() is None

    for content in (b"one", b"one", b"two"):
        replace_file(path, content)
        assert watched.newer() == content
        assert watched.newer() is None

    assert other.newer() == b"two"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert path.stat().st_mode & 0o077 == 0


def test_one_that_cannot_be_read_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()
    watched = WatchedFile(path)

    with pytest.raises(IsADirectoryError):
        watched.newer()

    assert watched.newer() is None
