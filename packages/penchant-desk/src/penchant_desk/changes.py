"""Changes as sentences: who did what, by the names that the audit log has for it."""

from collections.abc import Callable

from msgspec import UnsetType

from penchant_client import operations
from penchant_desk.sessions import DeskSession
from penchant_desk.site import PageVisit

PERSON = "person:"
"""Before the name of a person in the audit log."""
PIECE_CHANGES = {
    "blacklist.add": "hid {} everywhere",
    "blacklist.remove": "showed {} again",
    "whitelist.add": "boosted {}",
    "whitelist.remove": "took back the boost of {}",
}
"""Changes of a piece, each of which the next one undoes."""
UNDONE = {"blacklist.add": "show", "blacklist.remove": "hide", "whitelist.add": "unboost", "whitelist.remove": "boost"}
_CHANGES = {
    "blacklist.replace": "changed the list of hidden pieces",
    "whitelist.replace": "changed the list of boosted pieces",
    "settings.replace": "changed the settings",
    "placement.replace": "changed the row {}",
    "placement.put": "changed the row {}",
    "placement.delete": "deleted the row {}",
    "user.erase": "erased a person",
    "source.create": "made the source",
    "source.clear": "removed all pieces",
    "pull.add": "had {} be read again and again",
    "pull.remove": "ended the reading of {}",
    "draft.save": "saved the draft {}",
    "draft.delete": "deleted the draft {}",
    "draft.publish": "published {}",
    "draft.undo": "took back {}",
    "draft.accept": "accepted {}",
    "draft.propose": "asked others to look at {}",
    "draft.send-back": "sent back {}",
    "source.delete": "deleted the source {}",
    "key.create": "made the key {}",
    "key.plan": "gave another plan to the key {}",
    "key.origins": "gave other origins to the key {}",
    "key.revoke": "revoked the key {}",
    "account.secret": "made another signing secret",
}


def who(session: DeskSession, actor: str, name: str | UnsetType = "") -> str:
    """Return who did something, as pages name people: as a proxy does, or by the ``name`` of their key, or its id."""
    if actor == session.key_id:
        return "You"
    if actor.startswith(PERSON):
        return actor.removeprefix(PERSON)
    return "The command line" if actor == "command-line" else name or f"Key {actor}"


async def names_of_people(visit: PageVisit) -> Callable[[str], str]:
    """Return what says who did something in the account, by their key or their name at a proxy."""
    names = (await visit.client.send(operations.get_account(limit=1))).key_names
    return lambda actor: who(visit.session, actor, names.get(actor, ""))


def action_words(action: str, *, has_name: bool) -> str:
    """Return what was done, by the audit log's name for it, in words around ``{}`` for what it was done to, if any."""
    words = PIECE_CHANGES.get(action) or _CHANGES.get(action)
    return words or f"did {action}" + (" of {}" if has_name else "")
