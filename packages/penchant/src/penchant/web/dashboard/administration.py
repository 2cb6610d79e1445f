"""Handlers for keys with the admin role: keys and plans, usage, the audit log."""

from typing import Any

from penchant.errors import InvalidInput
from penchant.model import Scope
from penchant.service.administration import AuditPage, AuditQuery, current_month
from penchant.settings import NodeSettings
from penchant.web.dashboard.desk import action_words, who
from penchant.web.dashboard.rows.proposals import moment_in
from penchant.web.dashboard.site import PageAnswer, Visit
from penchant.wire import encode, format_timestamp
from penchant.wire.administration import decode_key_wish, parse_audit_moment, parse_month

KEYS = 50
"""Keys on a page, the newest first."""
_NUMBERS = {"days": "expiresInDays", "rate": "requestsPerSecond", "quota": "requestsPerMonth"}
"""Fields of the form for a key that hold numbers, and the members that they are of."""
ENTRIES = 100
"""Entries of the audit log on the page."""
ACCOUNTS = 150
"""Accounts on the page of usage, those with the most answers."""


async def keys(visit: Visit) -> PageAnswer:
    """Show the newest keys, or those of an account, the plans, and a form for another key."""
    return await _keys_page(visit)


async def change_keys(visit: Visit) -> PageAnswer:
    """Make a key, which is shown this once, revoke one, or put one into another plan."""
    form = visit.form
    administration = visit.services.administration
    if form.text("revoke"):
        answer = await administration.revoke(visit.access, form.text("revoke"))
        return await _keys_page(visit, revoked=answer)
    if form.text("change"):
        answer = await administration.set_plan(visit.access, form.text("change"), form.text("plan"))
        return await _keys_page(visit, changed=answer)
    if form.text("secret").strip():
        try:
            rolled = await administration.roll_secret(visit.access, form.text("secret").strip())
        except InvalidInput as error:
            return await _keys_page(visit, fault=error.detail, status=422)
        return await _keys_page(visit, rolled=rolled)
    wish: dict[str, Any] = {"account": form.text("account").strip(), "plan": form.text("plan", "full")}
    if form.text("admin"):
        wish["admin"] = True
    wish |= {"scopes": form.all("scope"), "origins": form.text("origins").split()}
    for field, member in _NUMBERS.items():
        text = form.text(field).strip()
        if text:
            # What is no number goes on as a text, and is refused with the interface's words.
            wish[member] = int(text) if text.isdecimal() and len(text) < 14 else text
    try:
        key = await administration.create(visit.access, decode_key_wish(encode(wish)))
    except InvalidInput as error:
        return await _keys_page(visit, fault=error.detail, status=422)
    return await _keys_page(visit, issued=key)


async def _keys_page(visit: Visit, *, status: int = 200, **more: Any) -> PageAnswer:
    """Show the newest keys, of one account or of all, with what has just been done."""
    account = visit.text("account")
    every = await visit.services.administration.keys()
    listed = [key for key in reversed(every) if account in {"", key.account}]
    settings = visit.services.settings
    values = {
        "keys": listed[:KEYS],
        "total": len(listed),
        "account": account,
        "plans": _plans(settings),
        "plan_names": [(each.name, each.name) for each in _plans(settings)],
        "acting": visit.access.key_id,
        "scopes": list(Scope),
        "issued": None,
        "rolled": None,
        "revoked": None,
        "changed": None,
        "fault": None,
    }
    return PageAnswer(template="keys.html", values=values | more, status=status)


def _plans(settings: NodeSettings) -> list[Any]:
    return [settings.plan(name) for name in settings.plan_names()]


async def usage(visit: Visit) -> PageAnswer:
    """Show what accounts have and have asked for in a month."""
    try:
        month = parse_month(visit.text("month"))
    except ValueError:
        month = current_month()
    accounts = sorted(
        await visit.services.administration.usage(month), key=lambda each: -each.answers - each.browser_answers
    )
    values = {
        "month": month,
        "accounts": accounts[:ACCOUNTS],
        "total": len(accounts),
        "answers": sum(each.answers + each.browser_answers for each in accounts),
    }
    return PageAnswer(
        template="usage.html",
        values=values | {"most": max((each.answers + each.browser_answers for each in accounts), default=0)},
    )


async def audit(visit: Visit) -> PageAnswer:
    """Show a page of the audit log as sentences, of an account, an actor and before a moment where they are given."""
    given = {name: visit.text(name).strip() for name in ("account", "actor", "before")}
    page, fault = AuditPage([], None), ""
    try:
        query = AuditQuery(actor=given["actor"] or None, before=_before(given["before"]), limit=ENTRIES)
        page = await visit.services.administration.audit(query, given["account"] or None)
    except InvalidInput as error:
        fault = error.detail
    entries = [
        (each, format_timestamp(each.recorded_at), who(visit, each.actor), *_done(each.action, each.subject))
        for each in page.entries
    ]
    values = given | {"entries": entries, "next": page.next, "fault": fault}
    return PageAnswer(template="audit.html", values=values, status=422 if fault else 200)


def _before(text: str) -> int | None:
    """Return the moment before which entries are shown, of a browser's field or a link to the next page."""
    if not text:
        return None
    try:
        return parse_audit_moment(text)
    except ValueError:
        return parse_audit_moment(format_timestamp(moment_in(text)))


def _done(action: str, subject: str) -> tuple[str, str, str]:
    """Return what was done as words before a name, the name, and words after it."""
    before, named, after = action_words(action, has_name=bool(subject)).partition("{}")
    # Of a source itself the words have no place for its name.
    return (before, subject, after) if named or not subject else (f"{before} of ", subject, "")
