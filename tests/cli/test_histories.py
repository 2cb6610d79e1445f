"""Histories that are evaluated: pieces have the words of the settings that they are judged under."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from penchant.live.word_writer import WordWriter, replace_settings
from penchant.model import EncodedPiece, SourceSettings
from penchant.storage import Storage, SubmitPieces, open_storage
from penchant.words import WordRule
from penchant_lab.commands.histories import read_source

WORDS = SourceSettings(words=WordRule(language="none"))
PIECE = {"id": "jaws", "label": "Jaws bites", "categories": {"tag": ["sea"]}}


def keywords(storage: Storage, given: SourceSettings | None = None) -> set[str]:
    (piece,) = read_source(storage, "default", "s", given).pieces
    return {term.keyword for term in piece.weights}


def test_words_are_those_in_force_unless_other_settings_are_given(tmp_path: Path) -> None:
    with closing(open_storage(folder=tmp_path)) as storage:
        account, writer = storage.accounts.ensure("default"), WordWriter(storage)
        pieces = [EncodedPiece(id="jaws", body=json.dumps(PIECE).encode())]
        writer.submit(SubmitPieces(account_id=account, source="s", pieces=pieces))
        assert (keywords(storage), keywords(storage, WORDS)) == ({"sea"}, {"sea", "jaws", "bites"})

        command = replace_settings(account_id=account, source="s", actor="me", settings=WORDS)
        storage.submit(command).result()
        writer.work_out(account, "s")
        assert keywords(storage) == {"sea", "jaws", "bites"}
        assert keywords(storage, replace(WORDS, words=WordRule(keep=1))) == {"sea", "jaws"}
