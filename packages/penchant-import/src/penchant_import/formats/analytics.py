"""Analytics: what people did on a site, as Google Analytics 4 exports it and as Matomo answers.

Both know pieces by what events say of them; what describes the pieces comes from elsewhere. Page views name nothing but
an address, so that they count only where ``--id-column`` says what the id of a piece is.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from penchant_engine.model import InteractionType
from penchant_import.drafts import (
    Draft,
    DraftKind,
    find_type,
    interaction_draft,
    order_event_id,
    problem_draft,
)
from penchant_import.files import Files, InputFile, JsonEntry
from penchant_import.options import ImportOptions
from penchant_import.placeholders import is_nobody, is_nothing
from penchant_import.report import NO_PLACE, Notes

ENDINGS = ("json", "jsonl", "ndjson")
_TRACKING = re.compile(r"(?:utm_|mtm_|pk_|matomo_|piwik_|mc_)|(?:gclid|fbclid|msclkid|dclid|_ga|_gl)\Z", re.IGNORECASE)
"""Parts of a query that say where somebody came from; others may say which page it is."""
_NOBODY = "without a person: neither a user nor a visitor is named"
_OTHERS = "(other members)"
"""Stands for all that is said of browsers, places and campaigns, by some fifty members."""
_PLACEHOLDER = "a placeholder, which stands for nobody"

# Google Analytics 4: https://support.google.com/analytics/answer/7029846 has the table that BigQuery gets.

_GA4: Mapping[str, InteractionType] = {
    "view_item": InteractionType.CLICK,
    "select_item": InteractionType.CLICK,
    "select_content": InteractionType.CLICK,
    "page_view": InteractionType.CLICK,
    "screen_view": InteractionType.CLICK,
    "video_start": InteractionType.PLAY,
    "video_complete": InteractionType.WATCH,
    "add_to_cart": InteractionType.BOOKMARK,
    "add_to_wishlist": InteractionType.BOOKMARK,
    "purchase": InteractionType.PURCHASE,
    "ecommerce_purchase": InteractionType.PURCHASE,
    "in_app_purchase": InteractionType.PURCHASE,
}
"""What events are; others go by the names that all formats know."""
_GA4_NO_PIECE = frozenset({
    "session_start", "first_visit", "first_open", "user_engagement", "scroll", "app_remove", "app_update",
    "os_update", "view_item_list", "view_promotion", "select_promotion", "view_cart", "begin_checkout",
    "add_shipping_info", "add_payment_info", "remove_from_cart", "refund", "search", "view_search_results", "login",
    "sign_up", "click", "form_start", "form_submit", "ad_impression", "notification_receive",
    "notification_dismiss", "app_exception",
})  # fmt: skip
"""Events that say nothing of a piece, or nothing that is a choice of it, unless ``--type`` says otherwise."""
_PARAMETERS = ("item_id", "content_id", "product_id")
"""Parameters of an event that name a piece, where it has no items."""
_ITEM = "item_id"
_TRANSACTION = "transaction_id"
_GA4_MEMBERS = {"event_name": "type", "event_timestamp": "timestamp"}
_GA4_READ = {"user_id", "user_pseudo_id", "items", "event_params", *_GA4_MEMBERS}


def read_ga4(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield an interaction for each item of an event, or for what its parameters name."""
    for file in files.select(*ENDINGS):
        for entry in files.entries(file):
            yield from _GoogleEvent(entry, file, options, notes).interactions()


class _AnalyticsEntry:
    """An object of an export, the options by which it is read, and where it is noted what became of it."""

    def __init__(self, entry: JsonEntry, file: InputFile, options: ImportOptions, notes: Notes) -> None:
        self._value = entry.value if isinstance(entry.value, dict) else {}
        self._problem = entry.problem
        self._where = file.name, entry.line
        self._options = options
        self._notes = notes

    def _person(self, *names: str) -> str:
        """Return who it was, by the first of some fields that names somebody, or the chosen one; empty for nobody."""
        for name in (self._options.user_column,) if self._options.user_column else names:
            person = self._value.get(name)
            if not is_nobody(person):
                self._notes.mapped(self._where[0], name, "userId")
                return str(person)
            if person not in (None, ""):
                self._omit(name, _PLACEHOLDER)
        return ""

    def _event_of(self, order: Any, field: str, piece_id: str) -> dict[str, str]:
        """Return the event id of a piece of an order, so that an order that is sent again counts once."""
        if is_nothing(order):
            return {}
        self._notes.mapped(self._where[0], field, "eventId")
        return {"eventId": order_event_id(order, piece_id)}

    def _omit(self, field: str, reason: str) -> None:
        self._notes.left_out(self._where[0], field, reason, self._where[1])


class _GoogleEvent(_AnalyticsEntry):
    """Makes interactions of an event: a row of the table."""

    def interactions(self) -> Iterator[Draft]:
        """Yield the interactions, or the problem of a row that is no event; what is left out is noted."""
        name = self._value.get("event_name")
        if not isinstance(name, str):
            detail = self._problem or "An object with event_name is accepted, as BigQuery exports it."
            yield problem_draft(DraftKind.INTERACTION, self._where, "event_name", detail)
            return
        if name in _GA4_NO_PIECE and name not in self._options.types:
            self._omit(f"event_name={name}", "says nothing of a piece")
            return
        chosen = self._options.types.get(name.lower()) or _GA4.get(name)
        kind = chosen or find_type(name, self._options.types)
        if kind is None:
            self._notes.note_unmapped(self._where[0], "event_name", name, self._where[1])
            return
        person = self._person("user_id", "user_pseudo_id")
        pieces = list(self._pieces(name))
        if not person:
            self._omit(f"event_name={name}", _NOBODY)
            return
        if pieces and self._value.keys() - _GA4_READ:
            self._omit(_OTHERS, NO_PLACE)
        order = self._order() if kind is InteractionType.PURCHASE else None
        for piece_id in pieces:
            for member, to in _GA4_MEMBERS.items():
                self._notes.mapped(self._where[0], member, to)
            yield self._interaction(person, piece_id, kind, order)

    def _order(self) -> Any:
        """Return the number of an order, or what has none: it is sent again where its page is loaded again."""
        ecommerce = self._value.get("ecommerce")
        number = ecommerce.get(_TRANSACTION) if isinstance(ecommerce, dict) else None
        return _parameters(self._value).get(_TRANSACTION) if is_nothing(number) else number

    def _pieces(self, name: str) -> Iterator[str]:
        """Yield the ids of the pieces of an event."""
        items = [element for element in _listed(self._value.get("items")) if isinstance(element, dict)]
        column = self._options.id_column or ""
        for item in items:
            result = str(item.get(column) or item.get(_ITEM) or "")
            if is_nothing(result):
                self._omit(f"items/{_ITEM}", "no id")
            else:
                self._notes.mapped(self._where[0], f"items/{column if item.get(column) else _ITEM}", "contentId")
                yield result
        if items:
            return
        parameters = _parameters(self._value)
        names = (column,) if column else _PARAMETERS
        named = next((element for element in names if not is_nothing(parameters.get(element))), None)
        if named is None:
            known = ", ".join(sorted(parameters)[:8])
            self._omit(f"event_name={name}", f"names no piece; say --id-column with one of its parameters ({known})")
            return
        self._notes.mapped(self._where[0], f"event_params/{named}", "contentId")
        yield _address(parameters[named])

    def _interaction(self, person: str, piece_id: str, kind: InteractionType, order: Any) -> Draft:
        micros = self._value.get("event_timestamp")
        try:
            time = int(micros) // 1000  # type: ignore[arg-type]  # what is no number raises
        except (TypeError, ValueError, OverflowError):
            detail = f"Found {micros!r:.60}; microseconds since 1970 are accepted."
            return problem_draft(DraftKind.INTERACTION, self._where, "event_timestamp", detail)
        return interaction_draft(
            self._where,
            who=(person, piece_id),
            kind=kind,
            time=("event_timestamp", time),
            more=self._event_of(order, _TRANSACTION, piece_id),
        )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _parameters(event: Mapping[str, Any]) -> dict[str, str]:
    parameters = {}
    for parameter in _listed(event.get("event_params")):
        key, value = (parameter.get("key"), parameter.get("value")) if isinstance(parameter, dict) else (None, None)
        if isinstance(key, str) and isinstance(value, dict):
            text = value.get("string_value") or value.get("int_value")
            if isinstance(text, str | int):
                parameters[key] = str(text)
    return parameters


def _address(text: str) -> str:
    """Return an address without its fragment and what tells where somebody came from; another text as it is."""
    if not text.startswith(("http://", "https://")):
        return text
    try:
        parts = urlsplit(text)
    except ValueError:
        return text
    query = "&".join(
        element for element in parts.query.split("&") if element and not _TRACKING.match(element.partition("=")[0])
    )
    return urlunsplit(parts._replace(query=query, fragment=""))


# Matomo: https://developer.matomo.org/api-reference/reporting-api#Live has the method; no page has the members.

_MATOMO: Mapping[str, InteractionType] = {
    "action": InteractionType.CLICK,
    "ecommerceorder": InteractionType.PURCHASE,
    "ecommerceabandonedcart": InteractionType.BOOKMARK,
}
"""What actions are, by their type in small letters; events go by their action."""
_EVENT = "event"
_MATOMO_NO_PIECE = frozenset({"outlink", "search", "goal", "form", "hsr", "abtesting", "crash"})
_MATOMO_READ = {"userId", "visitorId", "actionDetails", "lastActionTimestamp"}
_SKU = "itemSKU"


def read_matomo(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield an interaction for each item or product of an action, for what an event names, or for a page."""
    for file in files.select(*ENDINGS):
        for entry in files.entries(file):
            yield from _MatomoVisit(entry, file, options, notes).interactions()


class _MatomoVisit(_AnalyticsEntry):
    """Makes interactions of the actions of a visit."""

    def interactions(self) -> Iterator[Draft]:
        """Yield the interactions, or the problem of what is no visit; what is left out is noted."""
        actions = self._value.get("actionDetails")
        if not isinstance(actions, list):
            # In the place of visits Matomo answers with what it refuses.
            message = self._value.get("message")
            detail = self._problem or "A visit with actionDetails is accepted, as Live.getLastVisitsDetails answers."
            if isinstance(message, str):
                detail = f"Found an answer without visits, which says {message!r:.200}. {detail}"
            yield problem_draft(DraftKind.INTERACTION, self._where, "actionDetails", detail)
            return
        person = self._person("userId", "visitorId")
        if not person:
            self._omit("visit", _NOBODY)
            return
        if self._value.keys() - _MATOMO_READ:
            self._omit(_OTHERS, NO_PLACE)
        for action in actions:
            if isinstance(action, dict):
                yield from self._of_action(action, person)

    def _of_action(self, action: Mapping[str, Any], person: str) -> Iterator[Draft]:
        name = str(action.get("type"))
        field = f"type={name}"
        if name == _EVENT:
            name = str(action.get("eventAction"))
            field = f"eventAction={name}"
        elif name in _MATOMO_NO_PIECE and name not in self._options.types:
            self._omit(field, "says nothing of a piece")
            return
        types = self._options.types
        kind = types.get(name.lower()) or _MATOMO.get(name.lower()) or find_type(name, types)
        if kind is None:
            self._notes.note_unmapped(self._where[0], field.partition("=")[0], name, self._where[1])
            return
        time = action.get("timestamp") or self._value.get("lastActionTimestamp")
        order = action.get("orderId") if kind is InteractionType.PURCHASE else None
        for piece_id in self._pieces(action, field):
            self._notes.mapped(self._where[0], field.partition("=")[0], "type")
            yield interaction_draft(
                self._where,
                who=(person, piece_id),
                kind=kind,
                time=("timestamp", time),
                time_format=self._options.time_format,
                more=self._event_of(order, "orderId", piece_id),
            )

    def _pieces(self, action: Mapping[str, Any], field: str) -> Iterator[str]:
        """Yield the ids of the pieces of an action: those of products, else what was chosen, else an event's name."""
        items = _listed(action.get("itemDetails"))
        if items or "itemDetails" in action:
            for item in items:
                if isinstance(item, dict) and not is_nothing(item.get(_SKU)):
                    self._notes.mapped(self._where[0], f"itemDetails/{_SKU}", "contentId")
                    yield str(item[_SKU])
                else:
                    self._omit(f"itemDetails/{_SKU}", "no id")
            return
        default = "eventName" if action.get("type") == _EVENT else ""
        names = ("productViewSku", self._options.id_column or default)
        result = next(((name, action[name]) for name in names if action.get(name)), None)
        if result is None or not isinstance(result[1], str | int):
            self._omit(field, "names no piece; say --id-column, for instance --id-column url")
            return
        self._notes.mapped(self._where[0], result[0], "contentId")
        yield _address(str(result[1]))
