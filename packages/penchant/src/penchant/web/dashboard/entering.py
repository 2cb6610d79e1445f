"""Who comes to a page: a person whom a trusted proxy names, or else who signed in with a key.

Where a proxy names somebody, that is who it is: the session of a key beside it is not looked at.
"""

from penchant.errors import PenchantError
from penchant.service.access import Session, Sessions
from penchant.service.grants import grants_of, person_named, person_session
from penchant.web.dashboard.forms import cookie
from penchant.web.operations import Call
from penchant.web.problems import ProblemKind
from penchant_engine.model import DAY_MS

SESSION_COOKIE = "penchant-session"
ACCOUNT_COOKIE = "penchant-account"
"""Holds the mark of the account that a person has chosen, which gives nobody any right."""
_SHOWN_GROUPS = 300
"""Characters of a person's groups that a refusal repeats."""


class RefusedPerson(PenchantError):
    """A proxy names a person whom nothing is open to, or it is not clear whom; only pages show this error."""

    code = "refused-person"


REFUSED_PERSON = ProblemKind(
    403,
    "Signed in, and not let in",
    "Who may come in says the setting dashboard-groups: ask those who run this service.",
)


def sessions_of(call: Call) -> Sessions:
    """Return the sessions of the service that a request came to."""
    return Sessions(call.services.database, call.services.access)


async def session_of(call: Call) -> Session:
    """Return who comes, and with what rights at this moment.

    Raises:
        Unauthenticated: no proxy names anybody, and there is no session of a key, or it is over.
        RefusedPerson: a proxy names somebody, but not clearly, or none of the groups gives anything.
    """
    session = named_session(call)
    return session or await sessions_of(call).read(cookie(call, SESSION_COOKIE))


def named_session(call: Call) -> Session | None:
    """Return the session of the person whom a trusted proxy names; ``None`` where none does; raises as `session_of`."""
    settings = call.services.settings
    name_header, groups_header = settings.dashboard_proxy_header, settings.dashboard_proxy_groups_header
    if name_header is None or groups_header is None or not call.exchange.is_from_proxy():
        return None
    # Before anything is read of them: one of two may be the client's own.
    named, grouped = _one_of(call, name_header), _one_of(call, groups_header)
    if not named.strip():
        return None
    person = person_named(named)
    if person is None:
        raise RefusedPerson(
            "The proxy's name for you is none: too long, or with a comma or characters that show nothing."
        )
    # Separated by commas, as most write them, or by strokes.
    groups = {group.strip() for group in grouped.replace("|", ",").split(",")}
    grants = grants_of(groups, settings)
    if not grants:
        listed = ", ".join(sorted(filter(None, groups)))[:_SHOWN_GROUPS]
        which = f"the groups {listed}, none of which" if listed else "no groups, which"
        raise RefusedPerson(f"The proxy names you as {person!r} in {which} opens anything here.")
    chosen = cookie(call, ACCOUNT_COOKIE)
    today = call.services.people.now() // DAY_MS
    return person_session(person, grants, chosen, settings, secret=call.services.tag_secret, today=today)


def _one_of(call: Call, name: str) -> str:
    """Return the text of a header, "" where it is absent."""
    values = call.headers.getlist(name)
    if len(values) > 1:
        raise RefusedPerson(f"The header {name} came more than once; a proxy has to replace what a client sends.")
    try:
        # Headers are bytes, which are handed on as Latin-1; those of names are UTF-8.
        return values[0].encode("latin-1").decode() if values else ""
    except UnicodeDecodeError:
        raise RefusedPerson(f"The header {name} is not UTF-8.") from None
