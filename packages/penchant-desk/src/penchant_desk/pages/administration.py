"""Pages for keys with the admin role: keys and plans, usage, the audit log."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from penchant_client import ServiceError, operations
from penchant_client.records import IssuedKeyAnswer
from penchant_client.requests import encode, request_of
from penchant_desk.changes import action_words, who
from penchant_desk.pages.versions import steering_words
from penchant_desk.problems import PageProblem
from penchant_desk.site import DeskPage, PageVisit

KEYS = 50
"""Keys on a page, the newest first."""
_NUMBERS = {"days": "expiresInDays", "rate": "requestsPerSecond", "quota": "requestsPerMonth"}
"""Fields of the form for a key that hold numbers, and the members that they are of."""
ENTRIES = 100
"""Entries of the audit log on the page."""
ACCOUNTS = 150
"""Accounts on the page of usage, those with the most answers."""
SCOPES = ("read", "personal", "interact", "write")


async def keys(visit: PageVisit) -> DeskPage:
    """Show the newest keys, or those of an account, the plans, and a form for another key."""
    return await _keys_page(visit)


async def change_keys(visit: PageVisit) -> DeskPage:
    """Make a key, which is shown this once, revoke one, or put one into another plan."""
    form = visit.form
    if form.text("revoke"):
        return await _keys_page(visit, revoked=await visit.client.revoke_key(form.text("revoke")))
    if form.text("change"):
        return await _keys_page(visit, changed=await visit.client.set_plan(form.text("change"), form.text("plan")))
    try:
        if form.text("secret").strip():
            return await _keys_page(visit, rolled=await visit.client.roll_secret(form.text("secret").strip()))
        # As it stands in the form, so that what is no number is refused with the interface's words.
        body = encode(_wish(visit))
        request = request_of("POST", "/-/admin/keys", IssuedKeyAnswer, body=body, repeatable=False)
        return await _keys_page(visit, issued=await visit.client.send(request))
    except ServiceError as error:
        if error.code != "invalid-input":
            raise
        return await _keys_page(visit, fault=error.detail, status=422)


def _wish(visit: PageVisit) -> Mapping[str, Any]:
    """Return the key that a form asks for."""
    form = visit.form
    wish: dict[str, Any] = {"account": form.text("account").strip(), "plan": form.text("plan", "full")}
    if name := form.text("name").strip():
        wish["name"] = name
    if form.text("admin"):
        wish["admin"] = True
    wish |= {"scopes": form.all("scope"), "origins": form.text("origins").split()}
    for field, member in _NUMBERS.items():
        text = form.text(field).strip()
        if text:
            wish[member] = int(text) if text.isdecimal() and len(text) < 14 else text
    return wish


async def _keys_page(visit: PageVisit, *, status: int = 200, **more: Any) -> DeskPage:
    """Show the newest keys, of one account or of all, with what has just been done."""
    account = visit.text("account")
    every, named = await visit.ask(operations.list_keys(), operations.list_plans())
    listed = [key for key in reversed(every.keys) if account in {"", key.account}]
    values = {
        "keys": listed[:KEYS],
        "total": len(listed),
        "account": account,
        "plans": named.plans,
        "plan_names": [(each.name, each.name) for each in named.plans],
        "acting": visit.session.key_id,
        "scopes": SCOPES,
        "issued": None,
        "rolled": None,
        "revoked": None,
        "changed": None,
        "fault": None,
    }
    return DeskPage(template="keys.html", values=values | more, status=status)


async def usage(visit: PageVisit) -> DeskPage:
    """Show what accounts have and have asked for in a month."""
    try:
        report = await visit.client.usage(month=visit.text("month") or None)
    except ServiceError as error:
        if error.code != "invalid-input":
            raise
        # No month: the present one.
        report = await visit.client.usage()
    accounts = sorted(report.accounts, key=lambda each: -each.answers - each.browser_answers)
    values = {
        "month": report.month,
        "accounts": accounts[:ACCOUNTS],
        "total": len(accounts),
        "answers": sum(each.answers + each.browser_answers for each in accounts),
        "most": max((each.answers + each.browser_answers for each in accounts), default=0),
    }
    return DeskPage(template="usage.html", values=values)


async def audit(visit: PageVisit) -> DeskPage:
    """Show a page of the audit log as sentences, of an account, an actor and before a moment where they are given."""
    given = {name: visit.text(name).strip() for name in ("account", "actor", "before")}
    entries, following, fault = [], None, ""
    try:
        options = {name: text for name, text in given.items() if text}
        if given["before"]:
            options["before"] = _before(visit, given["before"])
        log = await visit.client.audit(limit=ENTRIES, **options)
        entries, following = log.entries, log.next
    except (ServiceError, PageProblem) as error:
        if error.code != "invalid-input":
            raise
        fault = error.detail
    lines = [
        (
            each,
            who(visit.session, each.actor, each.actor_name),
            *_done(each.action, each.subject),
            steering_words(each.changes or (), {}),
        )
        for each in entries
    ]
    values = given | {"zone": visit.form_zone(), "entries": lines, "next": following, "fault": fault}
    return DeskPage(template="audit.html", values=values, status=422 if fault else 200)


def _before(visit: PageVisit, text: str) -> str:
    """Return the moment before which entries are shown, of a browser's field or a link to the next page."""
    if text.isdecimal():
        return text
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is not None and moment.tzinfo is not None:
        return text
    return visit.moment_in(text).isoformat()


def _done(action: str, subject: str) -> tuple[str, str, str]:
    """Return what was done as words before a name, the name, and words after it."""
    before, named, after = action_words(action, has_name=bool(subject)).partition("{}")
    # Of a source itself the words have no place for its name.
    return (before, subject, after) if named or not subject else (f"{before} of ", subject, "")
