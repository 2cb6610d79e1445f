"""Roles of columns: which column of a table is the id, the person, the time, by the names that people use."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from penchant.importing.drafts import DraftKind
from penchant.importing.files import printable
from penchant.importing.inputs import InputFile, UnreadableFile
from penchant.importing.options import ImportOptions


def _words(text: str) -> list[str]:
    return text.split()


_IDS = _words(
    "id itemid item contentid content pieceid piece productid product articleid article newsid movieid movie "
    "filmid bookid book songid song trackid track videoid video showid recipeid docid documentid postid gameid "
    "courseid handle slug sku asin isbn isbn13 ean gtin tconst guid uuid"
)
_USERS = _words(
    "userid user uid customerid customer visitorid visitor personid person memberid member readerid reader "
    "viewerid listenerid reviewerid accountid profileid clientid anonymousid sessionid session username"
)
_TYPES = _words(
    "type event eventtype eventname action actiontype interaction interactiontype feedbacktype behavior behaviour "
    "behaviortype behaviourtype verb"
)
_RATINGS = _words("rating stars overall userrating bookrating score")
_TIMES = _words(
    "timestamp time ts date datetime createdat eventtime eventtimestamp eventdate occurredat recordedat unixtime "
    "unixreviewtime unixtimestamp timestampms epoch when visittime watchedat viewedat clickedat purchasedat "
    "ratedat orderdate purchasedate reviewdate"
)
_LABELS = _words("label title name headline producttitle productname itemname booktitle movietitle originaltitle")
_RECBOLE_TYPE = re.compile(r":(?:token|float)(?:_seq)?\Z")


class Roles(NamedTuple):
    """Which column is what; ``None`` where there is none."""

    id: str
    label: str | None
    user: str | None
    type: str | None
    rating: str | None
    time: str | None


def plain(name: str) -> str:
    """Return a column's name as it is compared: without a type behind a colon, small, letters and digits only."""
    return "".join(letter for letter in _RECBOLE_TYPE.sub("", name.lower()) if letter.isalnum())


def find_roles(columns: Sequence[str], file: InputFile, options: ImportOptions) -> Roles:
    """Return the roles of a table's columns: of interactions where one of them is a person, otherwise of pieces.

    Raises:
        UnreadableFile: a column is missing, or was named and is not there.
    """
    # A table with a column of people is one of interactions, unless the person who imports it says otherwise.
    is_piece = file.role is DraftKind.PIECE
    user = None if is_piece else _find(columns, options.user_column, _USERS)
    if file.role is DraftKind.INTERACTION and user is None:
        raise _missing(file, columns, "users", "--user-column")
    # In a table of interactions "id" is most likely that of the row: other names of a piece's id go first.
    piece_id = _find(columns, options.id_column, _IDS[1:] if user else _IDS) or _find(columns, options.id_column, _IDS)
    if piece_id is None:
        raise _missing(file, columns, "ids", "--id-column")
    if user is not None:
        _require(columns, file, (options.type_column, options.rating_column, options.time_column))
    return Roles(
        id=piece_id,
        label=_find(columns, options.label_column, _LABELS),
        user=user,
        type=_find(columns, options.type_column, _TYPES),
        rating=_find(columns, options.rating_column, _RATINGS),
        time=None if user is None or options.without_times else _find_time(columns, file, options),
    )


def _find_time(columns: Sequence[str], file: InputFile, options: ImportOptions) -> str:
    found = _find(columns, options.time_column, _TIMES)
    if found is None:
        # Old interactions that are taken for ones of now would count as fresh taste.
        raise _missing(
            file, columns, "times", "--time-column, or say with --without-times that all rows happen when imported"
        )
    return found


def _find(columns: Sequence[str], chosen: str | None, known: Sequence[str]) -> str | None:
    if chosen is not None:
        return chosen if chosen in columns else None
    # Reversed, so that of two columns with the same plain name the first one counts.
    by_name = {plain(column): column for column in reversed(columns)}
    return next((by_name[name] for name in known if name in by_name), None)


def _require(columns: Sequence[str], file: InputFile, names: Sequence[str | None]) -> None:
    missing = next((name for name in names if name and name not in columns), None)
    if missing is not None:
        shown = printable(", ".join(columns)) or "none"
        raise UnreadableFile(f"{file}: the column {missing} is missing; found are {shown}.")


def _missing(file: InputFile, columns: Sequence[str], what: str, option: str) -> UnreadableFile:
    hint = " If these are several columns, name what separates them with --delimiter." if len(columns) == 1 else ""
    shown = printable(", ".join(columns)) or "none"
    return UnreadableFile(f"{file}: no column of {what} in line 1; name it with {option}. Found are {shown}.{hint}")
