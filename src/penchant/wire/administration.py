"""What is sent and answered below `/-/admin`: keys, the usage of accounts, the audit log."""

import re

import msgspec

from penchant.wire.syntax import Faults, decode, kind_of, pointer
from penchant.wire.text import name_problem

MAX_KEY_DAYS = 36_500
"""The longest life of a key that has an end: a hundred years, as for all spans of days."""
_MEMBERS = ("account", "plan", "admin", "expiresInDays")
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])\Z", re.ASCII)


class KeyWish(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The key that is to be made; without a number of days it does not expire."""

    account: str
    plan: str = "full"
    admin: bool = False
    expires_in_days: int | None = None


class KeyAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A key by its id: whose it is, what it may do, and whether it works. Never the key itself."""

    key_id: str
    account: str
    plan: str
    role: str
    state: str
    created_at: str
    expires_at: str | None = None
    revoked_at: str | None = None


class NewKeyAnswer(KeyAnswer, frozen=True, kw_only=True, rename="camel"):
    """A key that was just made, with the key itself: it cannot be shown again."""

    key: str


class KeyList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Every key, oldest first."""

    keys: list[KeyAnswer]


class AccountUsageAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An account's recommendation answers of the month, and the sources and pieces that it has now."""

    account: str
    answers: int
    sources: int
    pieces: int


class UsageReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The usage of a UTC month, ascending by account."""

    month: str
    accounts: list[AccountUsageAnswer]


class AuditEntryAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who changed what, when: ``actor`` is a key's id, or ``command-line``."""

    recorded_at: str
    account: str
    actor: str
    action: str
    subject: str


class AuditLog(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Changes, newest first."""

    entries: list[AuditEntryAnswer]


def decode_key_wish(body: bytes) -> KeyWish:
    """Return the key that a body asks for.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: unknown, missing or ill-typed members, each with its pointer.
    """
    faults = Faults()
    value = decode(body)
    if not isinstance(value, dict):
        faults.add("", f"Found {kind_of(value)}; an object is accepted.")
        value = {"account": "-"}
    for name in value:
        if name not in _MEMBERS:
            faults.add(pointer(name), f"Found an unknown member; accepted are {', '.join(_MEMBERS)}.")
    if "account" not in value:
        faults.add("/account", "The member is missing; the account's name is accepted.")
    for name in ("account", "plan"):
        given = value.get(name, "full")
        problem = name_problem(given) if isinstance(given, str) else f"Found {kind_of(given)}; a string is accepted."
        if problem:
            faults.add(pointer(name), problem)
    if not isinstance(value.get("admin", False), bool):
        faults.add("/admin", f"Found {kind_of(value['admin'])}; true or false is accepted.")
    days = value.get("expiresInDays")
    if days is not None and (type(days) is not int or not 1 <= days <= MAX_KEY_DAYS):
        faults.add("/expiresInDays", f"Found {kind_of(days)}; an integer from 1 to {MAX_KEY_DAYS} is accepted.")
    faults.raise_any()
    return msgspec.convert(value, KeyWish)


def parse_month(text: str) -> str:
    """Return a month as it was written.

    Raises:
        ValueError: no month written as YYYY-MM.
    """
    if not _MONTH.match(text):
        raise ValueError("Found a value that is no month; YYYY-MM is accepted.")
    return text
