"""Histories that are evaluated: pieces have the words of the settings that they are judged under."""

import json
from contextlib import closing
from pathlib import Path

from penchant.live.keyword_writer import KeywordWriter, replace_settings
from penchant.model import EncodedPiece, SourceSettings
from penchant.storage import Storage, SubmitPieces, open_storage
from penchant_lab.commands.histories import read_source
from penchant_words.settings import settings_by
from penchant_words.texts import WordRule

WORDS = settings_by(WordRule(language="none"))
PIECE = {"id": "jaws", "label": "Jaws bites", "categories": {"tag": ["sea"]}}


def keywords(storage: Storage, given: SourceSettings | None = None) -> set[str]:
    (piece,) = read_source(storage, "default", "s", given).pieces
    return {term.keyword for term in piece.weights}


def test_words_are_those_in_force_unless_other_settings_are_given(tmp_path: Path) -> None:
    with closing(open_storage(folder=tmp_path)) as storage:
        account, writer = storage.accounts.ensure("default"), KeywordWriter(storage)
        pieces = [EncodedPiece(id="jaws", body=json.dumps(PIECE).encode())]
        writer.submit(SubmitPieces(account_id=account, source="s", pieces=pieces))
        assert (keywords(storage), keywords(storage, WORDS)) == ({"sea"}, {"sea", "jaws", "bites"})

        command = replace_settings(account_id=account, source="s", actor="me", settings=WORDS)
        storage.submit(command).result()
        writer.work_out(account, "s")
        assert keywords(storage) == {"sea", "jaws", "bites"}
        assert keywords(storage, settings_by(WordRule(keep=1))) == {"sea", "jaws"}
