"""The operation that shows which words pieces would get, and what it takes and answers."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import UNSET, UnsetType

from penchant.model import PieceLimits, Scope
from penchant.web.bodies import CONTENT_BODY
from penchant.web.operations import NOBODY, Answer, Call, Operation, OperationTable
from penchant.wire import encode
from penchant.wire.fields import Body, Example, Json, Record, described, ref, stated
from penchant.wire.pieces import DEFAULT_LIMITS, Piece, decode_drafts
from penchant.wire.schemas import InterfacePart
from penchant.wire.syntax import Faults
from penchant_words.keywords import words_of_piece
from penchant_words.settings import WORDS as WORD_BODY
from penchant_words.settings import WORDS_SHAPE, WordSettings, encode_word_setting, words_setting

MAX_PREVIEWED_PIECES = 100
"""Pieces whose words one request previews (interface, section 11)."""


class Texts(Record, frozen=True, kw_only=True):
    """Pieces whose words are to be shown, by a rule or by that of the source."""

    content: Annotated[
        Sequence[Piece | Mapping[str, Any]],
        described({"type": "array", "items": ref("Draft"), "maxItems": MAX_PREVIEWED_PIECES}),
        Example([{"id": "jaws", "label": "Jaws", "categories": {}}]),
    ]
    words: Annotated[WordSettings | UnsetType, described(ref("Words"))] = UNSET


TEXTS = Body(
    Texts, takes_null=False, description="Pieces whose words are to be shown, by a rule or by that of the source."
)


class PieceWords(Record, frozen=True, kw_only=True):
    """The words that a piece would get, those of greatest count first, and the language found; `none` for none."""

    id: str | None
    language: str
    words: tuple[str, ...]


class WordsPreview(Record, frozen=True, kw_only=True):
    """The words that pieces would get, in the order asked, and the rule that they are by."""

    content: list[PieceWords]
    words: Annotated[Mapping[str, Any], stated(ref("Words"))]


def decode_words_preview(
    body: bytes, limits: PieceLimits = DEFAULT_LIMITS
) -> tuple[WordSettings | None, list[tuple[str | None, bytes]]]:
    """Return a rule, if one is given, and pieces; raises as `decode_drafts`. An array of pieces has no rule."""
    rules: list[WordSettings | None] = []

    def read(members: Mapping[str, Any], faults: Faults) -> None:
        faults.only(members, TEXTS.members, "")
        rules.append(WORDS_SHAPE.read(members.get("words"), "/words", faults))

    pieces = decode_drafts(body, MAX_PREVIEWED_PIECES, limits, read)
    return rules[0], pieces


def _schemas(_generated: Mapping[str, Json]) -> Json:
    return {"Words": WORD_BODY.schema(), "Texts": TEXTS.schema()}


WORDS = OperationTable(
    Operation,
    "content",
    InterfacePart(
        answers=(WordsPreview,),
        schemas=_schemas,
        samples={
            "Texts": TEXTS.sample(),
            "WordsPreview": {
                "content": [{"id": "jaws", "language": "none", "words": ["jaws"]}],
                "words": WORD_BODY.sample(),
            },
        },
    ),
)


@WORDS.operation(
    "POST",
    "/{source}/preview/words",
    about=NOBODY,
    scope=Scope.WRITE,
    body_kind=CONTENT_BODY,
    body="Texts",
    answer="WordsPreview",
    errors=("too-many-entries",),
)
async def preview_words(call: Call) -> Answer:
    """The words that up to 100 pieces would get; nothing is stored."""
    view = await call.view()
    limits = call.services.settings.piece_limits
    given, pieces = await call.decode_body(lambda body: decode_words_preview(body, limits))
    setting = given or words_setting(view.source_settings) or WordSettings()

    def found() -> bytes:
        content = [(piece_id, words_of_piece(body, setting.rule)) for piece_id, body in pieces]
        entries = [PieceWords(id=each, language=kept.language, words=kept.words) for each, kept in content]
        return encode(WordsPreview(content=entries, words=encode_word_setting(setting)))

    return Answer(body=await call.services.database.in_thread(found), version=view.head.version)
