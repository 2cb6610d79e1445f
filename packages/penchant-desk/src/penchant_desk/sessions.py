"""Sessions: who looks at a page, with what rights, and how its requests reach the interface.

An `Entrance` is where a request comes in: mounted in the service (`penchant_desk.mounted`), or alone.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from penchant_client import AsyncClient
from penchant_desk.problems import PageProblem

VIEWER = "viewer"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskSession:
    """A browser that is signed in: by a key, or as a ``person`` whom a proxy names; and the proof that its forms carry.

    A person has no ``token``; ``account`` is the one of their ``grants`` that is worked in. Their proof is of the UTC
    day, and ``earlier_proof`` that of the day before. ``caller`` is what the entrance asks the interface with.
    ``name`` says who has the key, if that was said; ``packages`` are those that the service has.
    """

    key_id: str
    admin: bool
    role: str
    plan: str
    features: frozenset[str]
    scopes: frozenset[str]
    token: str
    proof: str
    earlier_proof: str = ""
    person: str | None = None
    account: str = ""
    grants: Sequence[Any] = ()
    caller: Any = field(default=None, repr=False)
    name: str = ""
    packages: Collection[str] = ()

    @property
    def access(self) -> "DeskSession":
        """The session itself, in which templates look for the key."""
        return self


ANYBODY = DeskSession(
    key_id="", admin=False, role="", plan="", features=frozenset(), scopes=frozenset(), token="", proof=""
)
"""Whoever looks at a public page, signed in or not."""


class Entrance(Protocol):
    """Where a request comes in."""

    base_path: str
    image_hosts: Collection[str]
    sign_out_at: str | None
    shows_metrics: bool
    is_secure: bool

    async def enter(self) -> None:
        """Wait until the request may begin."""

    def named(self, account_mark: str) -> DeskSession | None:
        """Return the session of the person whom a proxy names, in the account of a mark; ``None`` where none does."""

    async def read(self, token: str) -> DeskSession:
        """Return the session of a key."""

    async def begin(self, key: str) -> DeskSession:
        """Return a new session of a key."""

    async def end(self, token: str) -> None:
        """End a session."""

    async def count(self, session: DeskSession) -> None:
        """Count the request against the rate of a session's plan."""

    def client(self, session: DeskSession) -> AsyncClient:
        """Return what asks the interface for a session."""

    def problem(self, error: Exception) -> PageProblem | None:
        """Return what a page says of an error of the entrance's own; ``None`` where it is none."""


def rights(access: Any) -> Mapping[str, Any]:
    """Return the members of a session that say what a key may do, of the service's or an answer's record."""
    return {
        "key_id": access.key_id,
        "admin": access.role == "admin",
        "role": str(access.role),
        "plan": access.plan.name,
        "features": frozenset(str(getattr(each, "value", each)) for each in access.plan.features),
        "scopes": frozenset(map(str, access.scopes)),
        "name": access.name or "",
    }
