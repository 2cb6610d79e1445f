"""People whom a trusted proxy names: who it is, and what their groups open (`penchant.service.grants`)."""

from penchant.errors import PenchantError
from penchant.service.access import Session
from penchant.service.grants import grants_of, person_named, person_session
from penchant.web.exchange import RequestExchange
from penchant_engine.model import DAY_MS

_SHOWN_GROUPS = 300
"""Characters of a person's groups that a refusal repeats."""


class RefusedPerson(PenchantError):
    """A proxy names a person whom nothing is open to, or it is not clear whom; only pages show this error."""

    code = "refused-person"


def named_session(exchange: RequestExchange, chosen: str) -> Session | None:
    """Return the session of the person whom a trusted proxy names; ``None`` where none does.

    It is in the account with the mark ``chosen``, or else in the first that the groups open.

    Raises:
        RefusedPerson: it is not clear whom it names, or none of the groups gives anything.
    """
    settings = exchange.services.settings
    name_header, groups_header = settings.dashboard_proxy_header, settings.dashboard_proxy_groups_header
    if name_header is None or groups_header is None or not exchange.is_from_proxy():
        return None
    # Before anything is read of them: one of two may be the client's own.
    named, grouped = _one_of(exchange, name_header), _one_of(exchange, groups_header)
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
    services = exchange.services
    today = services.people.now() // DAY_MS
    return person_session(person, grants, chosen, settings, secret=services.access.tag_secret, today=today)


def _one_of(exchange: RequestExchange, name: str) -> str:
    """Return the text of a header, "" where it is absent."""
    values = exchange.headers.getlist(name)
    if len(values) > 1:
        raise RefusedPerson(f"The header {name} came more than once; a proxy has to replace what a client sends.")
    try:
        # Headers are bytes, which are handed on as Latin-1; those of names are UTF-8.
        return values[0].encode("latin-1").decode() if values else ""
    except UnicodeDecodeError:
        raise RefusedPerson(f"The header {name} is not UTF-8.") from None
