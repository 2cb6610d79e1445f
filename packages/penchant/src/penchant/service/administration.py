"""Administration: operators make, list and revoke keys, and read usage and the audit log.

Used by keys with the admin role and by the command line alike. Never the data of a source.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Self

import msgspec
from msgspec import UNSET, UnsetType

from penchant.errors import Fault, InvalidInput, invalid_parameter
from penchant.live.database import AsyncStorage
from penchant.model import Feature, Plan, Scope
from penchant.service import Services
from penchant.service.access import Access, key_scopes, new_key, new_signing_secret
from penchant.settings import CurrentSettings
from penchant.storage import AccountUsage, AuditEntry, KeyRecord, Storage
from penchant.wire import format_timestamp
from penchant.wire.administration import (
    AccountUsageAnswer,
    AuditEntryAnswer,
    AuditLog,
    IssuedKeyAnswer,
    KeyAnswer,
    KeyWish,
    OwnKey,
    PlanAnswer,
    SigningSecret,
    SteeringChange,
)
from penchant.wire.catalogue_answers import OwnAccount, OwnSource
from penchant.wire.text import name_problem

MAX_AUDIT_ENTRIES = 1_000
"""Entries of the audit log in one answer."""


def make_key(storage: Storage, wish: KeyWish, *, actor: str) -> tuple[KeyRecord, str]:
    """Store a new key, and its account where that is missing; return its record with the key itself."""
    now = datetime.now(UTC)
    days = wish.expires_in_days
    key_id, key, secret_hash = new_key()
    record = KeyRecord(
        key_id=key_id,
        account_id=storage.accounts.ensure(wish.account),
        account=wish.account,
        plan=wish.plan,
        admin=wish.admin,
        secret_hash=secret_hash,
        created_at=_milliseconds(now),
        expires_at=None if days is None else _milliseconds(now + timedelta(days=days)),
        # In the order of `Scope`, whatever the order was in which they were given.
        scopes=",".join(scope for scope in Scope if scope in (wish.scopes or ())),
        origins=" ".join(wish.origins),
        requests_per_second=wish.requests_per_second,
        requests_per_month=wish.requests_per_month,
        name=wish.name,
    )
    storage.keys.create(record, actor=actor)
    return record, key


def roll_secret(storage: Storage, account: str, *, actor: str) -> SigningSecret:
    """Give an account a fresh secret with which it signs people; what the old one has signed ends within a second."""
    secret = new_signing_secret()
    storage.accounts.set_signing_secret(account, secret.encode(), actor=actor)
    return SigningSecret(account=account, secret=secret)


def current_month() -> str:
    """Return the present UTC month as ``YYYY-MM``."""
    return datetime.now(UTC).strftime("%Y-%m")


def key_answer(record: KeyRecord) -> KeyAnswer[str]:
    """Return the public description of a key, with its present state."""
    return KeyAnswer(
        key_id=record.key_id,
        account=record.account,
        plan=record.plan,
        role="admin" if record.admin else "tenant",
        state=_state(record),
        created_at=format_timestamp(record.created_at),
        expires_at=_moment(record.expires_at),
        revoked_at=_moment(record.revoked_at),
        scopes=[scope for scope in Scope if scope in key_scopes(record)],
        origins=record.origins.split(),
        requests_per_second=record.requests_per_second,
        requests_per_month=record.requests_per_month,
        name=_stated(record.name),
    )


def plan_answer(plan: Plan) -> PlanAnswer:
    """Return a plan as the interface shows it."""
    return PlanAnswer(
        name=plan.name,
        # In the order of `Feature`, whatever the order is in which the settings name them.
        features=[feature for feature in Feature if feature in plan.features],
        requests_per_second=plan.requests_per_second,
        sources=plan.sources,
        pieces_per_source=plan.pieces_per_source,
        recommendations_per_month=plan.recommendations_per_month,
    )


def own_key(access: Access) -> OwnKey:
    """Return what a caller may do as the interface shows it."""
    return OwnKey(
        key_id=access.key_id,
        role=access.role,
        scopes=[scope for scope in Scope if scope in access.scopes],
        plan=plan_answer(access.plan),
        name=_stated(access.name),
    )


def usage_answers(rows: Sequence[AccountUsage]) -> list[AccountUsageAnswer]:
    """Return the usage of accounts as the interface shows it."""
    return msgspec.convert(rows, list[AccountUsageAnswer], from_attributes=True)


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries of the audit log are asked for; ``before`` is a moment in nanoseconds since 1970 UTC.

    ``name`` is what was changed is called in its source.
    """

    actor: str | None = None
    action: str | None = None
    name: str | None = None
    before: int | None = None
    limit: int


class AuditPage(msgspec.Struct, frozen=True):
    """Entries of the audit log, newest first, and the moment before which there are more; ``None``: there are none."""

    entries: Sequence[AuditEntry]
    next: int | None

    def answer(self) -> AuditLog[str]:
        """Return the entries as the interface shows them."""
        return AuditLog(
            entries=[
                AuditEntryAnswer(
                    recorded_at=format_timestamp(entry.recorded_at),
                    account=entry.account,
                    actor=entry.actor,
                    action=entry.action,
                    subject=entry.subject,
                    count=entry.count,
                    first_at=format_timestamp(entry.first_at),
                    actor_name=_stated(entry.actor_name),
                    changes=msgspec.convert(entry.changes, Sequence[SteeringChange]) or UNSET,
                )
                for entry in self.entries
            ]
        )


def read_audit(
    storage: Storage, query: AuditQuery, *, account_id: int | None = None, source: str | None = None
) -> AuditPage:
    """Return a page of the audit log: of all accounts, of one, or of a source of it."""
    found = storage.accounts.list_audit(
        account_id=account_id,
        source=source,
        subject=None if query.name is None else f"{source}/{query.name}",
        action=query.action,
        actor=query.actor,
        before=query.before,
        limit=query.limit + 1,
    )
    entries = found[: query.limit]
    return AuditPage(entries, entries[-1].moment if len(found) > query.limit else None)


class Administration:
    """Keys of all accounts, their usage, and who changed what."""

    def __init__(self, database: AsyncStorage, settings: CurrentSettings) -> None:
        self._database = database
        self._settings = settings

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return what manages keys over the service."""
        return cls(services.database, services.current)

    async def usage(self, month: str) -> list[AccountUsageAnswer]:
        """Return the usage of every account in a month (``YYYY-MM``)."""
        storage = self._database.storage
        return usage_answers(await self._database.in_thread(storage.accounts.list_usage, month))

    async def audit(self, query: AuditQuery, account: str | None = None) -> AuditPage:
        """Return a page of the audit log, of all accounts or of one.

        Raises:
            InvalidInput: no account has this name.
        """
        return await self._database.in_thread(self._read_audit, query, account)

    def _read_audit(self, query: AuditQuery, account: str | None) -> AuditPage:
        storage = self._database.storage
        account_id = None if account is None else storage.accounts.find(account)
        if account is not None and account_id is None:
            raise invalid_parameter("account", "Found the name of no account; GET /-/admin/usage lists them.")
        return read_audit(storage, query, account_id=account_id)

    async def source_audit(self, access: Access, source: str, query: AuditQuery) -> AuditPage:
        """Return a page of the changes of a source of the caller's."""
        storage, account_id = self._database.storage, access.account_id
        return await self._database.in_thread(read_audit, storage, query, account_id=account_id, source=source)

    async def own_account(
        self, access: Access, *, skip: int, limit: int | None, indexed_version: Callable[[int, str], int | None]
    ) -> OwnAccount[str]:
        """Return the account of a key with its sources; ``indexed_version`` is what the process has."""
        accounts, sources = self._database.storage.accounts, self._database.storage.sources
        name = await self._database.promptly(accounts.name_of, access.account_id)
        heads = await self._database.promptly(sources.list_of, access.account_id)
        names = await self._database.promptly(self._database.storage.keys.names_of, access.account_id)
        return OwnAccount(
            account=name,
            key_names=names,
            count=len(heads),
            sources=[
                OwnSource(
                    source=head.name,
                    pieces=head.piece_count,
                    version=head.version,
                    indexed_version=indexed_version(head.account_id, head.name),
                    created_at=format_timestamp(head.created_at),
                    updated_at=format_timestamp(head.changed_at),
                )
                for head in heads[skip : None if limit is None else skip + limit]
            ],
        )

    async def keys(self) -> list[KeyAnswer[str]]:
        """Return every key, oldest first; revoked ones stay listed."""
        records = await self._database.in_thread(self._database.storage.keys.list_all)
        return [key_answer(record) for record in records]

    def plans(self) -> list[PlanAnswer]:
        """Return the plans that keys may have, ascending by name."""
        settings = self._settings.now
        return [plan_answer(plan) for name in settings.plan_names() if (plan := settings.plan(name)) is not None]

    async def create(self, access: Access, wish: KeyWish) -> IssuedKeyAnswer[str]:
        """Make a key, and its account where that is missing.

        Raises:
            InvalidInput: no plan has this name.
        """
        self._require_plan(wish.plan)
        storage = self._database.storage
        record, key = await self._database.in_thread(make_key, storage, wish, actor=access.key_id)
        answer = key_answer(record)
        return IssuedKeyAnswer(key=key, **{name: getattr(answer, name) for name in KeyAnswer.__struct_fields__})

    async def roll_secret(self, access: Access, account: str) -> SigningSecret:
        """Give an account, made if it is missing, a fresh secret with which it signs people.

        Raises:
            InvalidInput: no account can have this name.
        """
        problem = name_problem(account)
        if problem:
            raise invalid_parameter("account", problem)
        return await self._database.in_thread(roll_secret, self._database.storage, account, actor=access.key_id)

    async def revoke(self, access: Access, key_id: str) -> KeyAnswer[str]:
        """Revoke a key, which may be revoked already; it stops working within a second everywhere.

        Raises:
            InvalidInput: no key has this id.
        """
        await self._database.in_thread(self._database.storage.keys.revoke, key_id, actor=access.key_id)
        return await self._key(key_id)

    async def set_plan(self, access: Access, key_id: str, plan: str) -> KeyAnswer[str]:
        """Put a key into a plan, in which it may be already; it holds within a second everywhere.

        Raises:
            InvalidInput: no plan has this name, or no key this id.
        """
        self._require_plan(plan)
        await self._database.in_thread(self._database.storage.keys.set_plan, key_id, plan, actor=access.key_id)
        return await self._key(key_id)

    def _require_plan(self, name: str) -> None:
        settings = self._settings.now
        if settings.plan(name) is None:
            detail = f"Found an unknown plan; accepted are {', '.join(settings.plan_names())}."
            raise InvalidInput(f"/plan: {detail}", faults=[Fault(pointer="/plan", detail=detail)])

    async def _key(self, key_id: str) -> KeyAnswer[str]:
        # From storage, past what `AccessControl` remembers: the answer shows the key as it is now.
        record = await self._database.in_thread(self._database.storage.keys.find, key_id)
        if record is None:
            raise invalid_parameter("keyID", "Found the id of no key; GET /-/admin/keys lists them.")
        return key_answer(record)


def _stated(name: str | None) -> str | UnsetType:
    return UNSET if name is None else name


def _state(record: KeyRecord) -> str:
    if record.revoked_at is not None:
        return "revoked"
    expired = record.expires_at is not None and record.expires_at <= _milliseconds(datetime.now(UTC))
    return "expired" if expired else "active"


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else format_timestamp(milliseconds)


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
