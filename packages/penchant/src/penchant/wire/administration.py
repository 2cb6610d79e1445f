"""Administration: what is sent and answered below `/-/admin`, of keys, the usage of accounts, and the audit log."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic

import msgspec
from msgspec import UNSET, UnsetType

from penchant.model import BROWSER_SCOPES, MAX_NAME_LENGTH, Feature, Role, Scope
from penchant.wire.answers import Moment
from penchant.wire.fields import BOOLEAN, NAME_SCHEMA, Body, Description, Example, Record, Shape, described, stated
from penchant.wire.syntax import Faults, decode, kind_of, pointer
from penchant.wire.text import name_problem
from penchant.wire.times import parse_sent_timestamp

MAX_KEY_DAYS = 36_500
"""The longest life of a key that has an end: a hundred years, as for all spans of days."""
MAX_ORIGINS = 50
"""Origins of a browser key."""
MAX_ADDRESS_RATE = 100_000
MAX_BROWSER_QUOTA = 10**12
"""What a browser key may allow an address in a second, and all pages in a month."""
_LIMITS = {"requestsPerSecond": MAX_ADDRESS_RATE, "requestsPerMonth": MAX_BROWSER_QUOTA}
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?\Z", re.ASCII)
_NANOSECONDS = re.compile(r"[0-9]{19}\Z", re.ASCII)
_MILLISECOND_NS = 1_000_000
_LAST_NS = 2**63 - 1
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])\Z", re.ASCII)


def _limit(most: int) -> Shape:
    return described({"type": ["integer", "null"], "minimum": 1, "maximum": most})


# Which scopes and limits a key may have depends on its origins: the reader below looks at them together.
_SCOPES = described({"type": ["array", "null"], "items": {"type": "string", "enum": list(Scope)}})
_ORIGINS = described(
    {
        "type": ["array", "null"],
        "items": {"type": "string", "maxLength": MAX_NAME_LENGTH},
        "maxItems": MAX_ORIGINS,
    }
)


_NAME = described({"type": ["string", "null"], "minLength": 1, "maxLength": MAX_NAME_LENGTH})


class KeyWish(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The key that is to be made; without a number of days it does not expire.

    Without ``scopes`` it has all; with ``origins`` it is a browser key, which has `BROWSER_SCOPES` at most, and allows
    ``requests_per_second`` from one address and ``requests_per_month`` that count; ``None`` is what is usual.
    """

    account: Annotated[str, described(NAME_SCHEMA), Example("press")]
    plan: Annotated[str, described(NAME_SCHEMA), Example("basic")] = "full"
    admin: Annotated[bool, BOOLEAN] = False
    expires_in_days: Annotated[int | None, _limit(MAX_KEY_DAYS), Example(365)] = None
    scopes: Annotated[Sequence[Scope], _SCOPES] = ()
    origins: Annotated[Sequence[str], _ORIGINS] = ()
    requests_per_second: Annotated[
        int | None, _limit(MAX_ADDRESS_RATE), Description("What a browser key allows one address.")
    ] = None
    requests_per_month: Annotated[
        int | None, _limit(MAX_BROWSER_QUOTA), Description("Answers that a browser key allows pages.")
    ] = None
    name: Annotated[str | None, _NAME, Description("Who has the key."), Example("Ida Berg")] = None


KEY_WISH = Body(KeyWish, takes_null=False)


class PlanWish(msgspec.Struct, frozen=True, kw_only=True):
    """The plan that a key is to be in."""

    plan: Annotated[str, described(NAME_SCHEMA), Example("full")]


PLAN_WISH = Body(PlanWish, takes_null=False)


class PlanAnswer(Record, frozen=True, kw_only=True, rename="camel"):
    """A plan: what its keys may use, and their limits, of which ``None`` is none."""

    name: str
    features: list[Feature]
    requests_per_second: int | None
    sources: int | None
    pieces_per_source: int | None
    recommendations_per_month: int | None


class PlanList(Record, frozen=True, kw_only=True):
    """The plans of the service, ascending by name."""

    plans: list[PlanAnswer]


class OwnKey(Record, frozen=True, kw_only=True, rename="camel"):
    """What the key of a request may do; ``name`` says who has it, if that was said."""

    key_id: str
    role: Role
    scopes: list[Scope]
    plan: PlanAnswer
    name: str | UnsetType = UNSET


class KeyAnswer(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """A key by its id: whose it is, what it may do, and whether it works. Never the key itself.

    The two numbers are of browser keys: ``None`` where they are the usual ones. ``name`` is there where it has one.
    """

    key_id: str
    account: str
    plan: str
    role: str
    state: str
    created_at: Moment
    expires_at: Moment | None = None
    revoked_at: Moment | None = None
    scopes: list[Scope]
    origins: list[str]
    requests_per_second: int | None = None
    requests_per_month: int | None = None
    name: str | UnsetType = UNSET


class SigningSecret(Record, frozen=True, kw_only=True):
    """The secret with which an account signs people, shown this once: what another one has signed ends."""

    account: str
    secret: str


class IssuedKeyAnswer(KeyAnswer[Moment], Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """A key that was just made, with the key itself: it cannot be shown again."""

    key: str


class KeyList(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """Every key, oldest first."""

    keys: list[KeyAnswer[Moment]]


class AccountUsageAnswer(Record, frozen=True, kw_only=True, rename="camel"):
    """An account's recommendation answers of the month, and the sources and pieces that it has now.

    ``answers`` count against its plan, ``browser_answers`` against the quotas of its browser keys.
    """

    account: str
    answers: int
    sources: int
    pieces: int
    browser_answers: int = 0


class UsageReport(Record, frozen=True, kw_only=True, rename="camel"):
    """The usage of a UTC month, ascending by account."""

    month: str
    accounts: list[AccountUsageAnswer]


class SteeringChange(Record, frozen=True, kw_only=True):
    """A change of settings, by its pointer, or of a list: an id that was ``added`` or ``removed``, or another order.

    Values that are long are left out; null is a member that was not there. The last one may say how many ``more``.
    """

    pointer: str | UnsetType = UNSET
    before: Any = UNSET
    after: Any = UNSET
    added: str | UnsetType = UNSET
    removed: str | UnsetType = UNSET
    reordered: bool | UnsetType = UNSET
    more: int | UnsetType = UNSET


class AuditEntryAnswer(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """Who changed what, when: ``actor`` is a key's id, or ``command-line``; ``actor_name`` is there where it has one.

    It stands for ``count`` equal changes within a minute, from ``first_at`` to ``recorded_at``; ``changes`` is what the
    last of them changed of settings or a list.
    """

    recorded_at: Moment
    account: str
    actor: str
    action: str
    subject: str
    count: Annotated[int, stated({"minimum": 1})]
    first_at: Moment
    actor_name: str | UnsetType = UNSET
    changes: Sequence[SteeringChange] | UnsetType = UNSET


class AuditLog(Record, Generic[Moment], frozen=True, kw_only=True, rename="camel"):
    """Changes, newest first."""

    entries: list[AuditEntryAnswer[Moment]]


def decode_key_wish(body: bytes) -> KeyWish:
    """Return the key that a body asks for.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: unknown, missing or ill-typed members, each with its pointer.
    """
    faults = Faults()
    value = _object(body, faults, KEY_WISH)
    if value.get("name") is None:
        value.pop("name", None)
    _check_names(value, faults)
    if not isinstance(value.get("admin", False), bool):
        faults.add("/admin", f"Found {kind_of(value['admin'])}; true or false is accepted.")
    days = value.get("expiresInDays")
    if days is not None and (type(days) is not int or not 1 <= days <= MAX_KEY_DAYS):
        faults.add("/expiresInDays", f"Found {kind_of(days)}; an integer from 1 to {MAX_KEY_DAYS} is accepted.")
    scopes = _listed(value, "scopes", faults)
    origins = _listed(value, "origins", faults)
    _check_scopes(value, scopes, faults)
    _check_origins(origins, faults)
    for name, most in _LIMITS.items():
        _check_limit(value, name, most, faults)
    faults.raise_any()
    wish = msgspec.convert(value, KeyWish)
    # A key that pages show to everybody must not write: without scopes it gets those that a browser key may have.
    if wish.origins and not wish.scopes:
        return msgspec.structs.replace(wish, scopes=tuple(scope for scope in Scope if scope in BROWSER_SCOPES))
    return wish


def _listed(value: dict[str, Any], name: str, faults: Faults) -> list[str]:
    """Return a member that is a list of strings; blank where it is absent."""
    given = value.get(name)
    if given is None:
        # Null is absent, also for the record that is made of the object at the end.
        value.pop(name, None)
        return []
    if not isinstance(given, list) or not all(isinstance(entry, str) for entry in given):
        faults.add(pointer(name), f"Found {kind_of(given)}; an array of strings is accepted.")
        value[name] = []
        return []
    return given


def _check_scopes(value: Mapping[str, Any], scopes: list[str], faults: Faults) -> None:
    accepted = BROWSER_SCOPES if value.get("origins") else frozenset(Scope)
    names = ", ".join(scope for scope in Scope if scope in accepted)
    for index, scope in enumerate(scopes):
        if scope not in accepted:
            faults.add(f"/scopes/{index}", f"Found another scope; accepted are {names}.")
    if value.get("admin") is True and (scopes or value.get("origins")):
        faults.add("/admin", "Found true beside scopes or origins; a key with the admin role has none.")


def _check_origins(origins: list[str], faults: Faults) -> None:
    if len(origins) > MAX_ORIGINS:
        faults.add("/origins", f"Found {len(origins)} origins; up to {MAX_ORIGINS} are accepted.")
    for index, origin in enumerate(origins):
        if len(origin) > MAX_NAME_LENGTH or not _ORIGIN.match(origin):
            detail = "Found no origin; accepted is scheme, host in lower case and port, as in https://shop.example."
            faults.add(f"/origins/{index}", detail)


def _check_limit(value: Mapping[str, Any], name: str, most: int, faults: Faults) -> None:
    """Note what is wrong with a limit, which only browser keys have."""
    given = value.get(name)
    if given is None:
        return
    if type(given) is not int or not 1 <= given <= most:
        faults.add(pointer(name), f"Found {kind_of(given)}; an integer from 1 to {most} is accepted.")
    elif not value.get("origins"):
        faults.add(pointer(name), "Found a limit of browser keys; it takes origins beside it.")


def decode_plan_wish(body: bytes) -> PlanWish:
    """Return the plan that a body names.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: unknown, missing or ill-typed members, each with its pointer.
    """
    faults = Faults()
    value = _object(body, faults, PLAN_WISH)
    _check_names(value, faults)
    faults.raise_any()
    return msgspec.convert(value, PlanWish)


def _object(body: bytes, faults: Faults, kind: Body[Any]) -> dict[str, Any]:
    """Return the object of a body, or one that gives no further faults."""
    value = decode(body)
    if not isinstance(value, dict):
        faults.add("", f"Found {kind_of(value)}; an object is accepted.")
        return {}
    faults.only(value, kind.members, "")
    for name in kind.required:
        if name not in value:
            faults.add(pointer(name), f"The member is missing; the {name}'s name is accepted.")
    return value


def _check_names(value: Mapping[str, Any], faults: Faults) -> None:
    for name in ("account", "plan", "name"):
        # An absent one stands for itself as a fine name: whether it may be absent is checked elsewhere.
        given = value.get(name, "-")
        problem = name_problem(given) if isinstance(given, str) else f"Found {kind_of(given)}; a string is accepted."
        if problem:
            faults.add(pointer(name), problem)


def parse_audit_moment(text: str) -> int:
    """Return a moment of the audit log in nanoseconds since 1970 UTC, given as that number or as an RFC 3339 time.

    Raises:
        ValueError: neither of both.
    """
    if _NANOSECONDS.match(text):
        moment = int(text)
    else:
        try:
            moment = parse_sent_timestamp(text) * _MILLISECOND_NS
        except ValueError as error:
            raise ValueError(f"{error} So is the x-penchant-next of the page before.") from None
    # Nothing was changed before 1970; where such numbers end, it is 2262.
    return max(0, min(moment, _LAST_NS))


def parse_month(text: str) -> str:
    """Return a month as it was written.

    Raises:
        ValueError: no month written as YYYY-MM.
    """
    if not _MONTH.match(text):
        raise ValueError("Found a value that is no month; YYYY-MM is accepted.")
    return text
