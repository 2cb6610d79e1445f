"""Grants: what people whom a proxy names may do at the dashboard, by their groups and the settings of the moment.

Nothing is kept of such a person: each request brings name and groups, so that what a group no longer gives ends with
the next one. Only with what they have scheduled stands the group by which they might.
"""

import hashlib
from collections.abc import Collection, Sequence

from penchant.errors import OutsideScope
from penchant.model import VIEWER_SCOPES, Role, Scope
from penchant.normalizing import normalize
from penchant.service.access import Access, Grant, Session, plan_in_force
from penchant.settings import NodeSettings
from penchant.storage import account_number

PERSON = "person:"
"""Before the name of a person in the audit log: no id of a key has a colon."""
MAX_PERSON = 200
"""Characters of a person's name: addresses of mail have at most 254, those of people far fewer."""
_ROLES = tuple(Role)
_PROOF_BYTES = 16


def person_named(text: str) -> str | None:
    """Return the name of a person as the audit has it, so that nobody is two people; ``None`` for what is no name.

    Compatible characters and upper and lower case are one: where two are to look at something, Kim and kim are one of
    them. A comma is in no name: of two headers some proxies make one.
    """
    if len(text) > MAX_PERSON:
        return None
    name = normalize("NFKC", normalize("NFKC", text).casefold()).strip()
    return name if name and len(name) <= MAX_PERSON and name.isprintable() and "," not in name else None


def grants_of(groups: Collection[str], settings: NodeSettings) -> Sequence[Grant]:
    """Return what these groups give: of each account the highest role, in the order of the settings."""
    highest: dict[str, Grant] = {}
    for row in settings.dashboard_groups:
        grant = Grant(account=row.account or "", role=row.role, plan=row.plan, group=row.group)
        known = highest.get(grant.account)
        if row.group in groups and (known is None or _ROLES.index(grant.role) > _ROLES.index(known.role)):
            highest[grant.account] = grant
    return list(highest.values())


def person_session(
    person: str, grants: Sequence[Grant], chosen: str, settings: NodeSettings, *, secret: bytes, today: int
) -> Session:
    """Return the session of a person with the account that has this mark, or else the first.

    Its forms are of this person, account and role alone: one that was opened before another account was chosen changes
    nothing there. ``secret`` keys their proof, which is of a UTC day.

    Raises:
        FeatureNotInPlan: the plan is not configured.
    """
    grant = next((each for each in grants if each.mark == chosen), grants[0])
    access = _access(PERSON + person, grant, settings)

    def proof_of(day: int) -> str:
        told = f"{person}\0{grant.account}\0{grant.role}\0{day}"
        proof = hashlib.blake2b(told.encode(), digest_size=_PROOF_BYTES, key=secret[:64], person=b"penchant form")
        return proof.hexdigest()

    return Session(
        access=access,
        token="",
        proof=proof_of(today),
        earlier_proof=proof_of(today - 1),
        person=person,
        account=grant.account,
        grants=grants,
    )


def editor_again(actor: str, group: str | None, account_id: int, settings: NodeSettings) -> Access:
    """Return what a person of a group, or where none is known of any, may do by now who was an editor of an account.

    Whether the person is still in the group, their next request tells and nothing before.

    Raises:
        OutsideScope: the group has no editors of the account any more.
        FeatureNotInPlan: its plan is not configured.
    """
    groups = {row.group for row in settings.dashboard_groups if group in {None, row.group}}
    for grant in grants_of(groups, settings):
        if grant.role is Role.EDITOR and account_number(grant.account) == account_id:
            return _access(actor, grant, settings)
    raise OutsideScope("By their group, who scheduled this is no editor of the account any more.")


def _access(actor: str, grant: Grant, settings: NodeSettings) -> Access:
    return Access(
        key_id=actor,
        account_id=account_number(grant.account),
        plan=plan_in_force(settings, grant.plan, "groups' plan"),
        admin=grant.role is Role.ADMIN,
        scopes=VIEWER_SCOPES if grant.role is Role.VIEWER else frozenset(Scope),
        grant=grant,
    )
