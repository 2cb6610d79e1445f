"""Handlers of administration below ``/-/admin``: keys, plans, usage, the audit log, signing secrets."""

from penchant.service.administration import MAX_AUDIT_ENTRIES, Administration, AuditPage, AuditQuery, current_month
from penchant.web.bodies import SETTINGS_BODY
from penchant.web.operations import EVERYBODY, Answer, Call, Operation, OperationTable
from penchant.web.query import Parameter, integer
from penchant.wire import encode
from penchant.wire.administration import (
    KeyList,
    PlanList,
    UsageReport,
    decode_key_wish,
    decode_plan_wish,
    parse_audit_moment,
    parse_month,
)

ADMINISTRATION = OperationTable(Operation, "administration")

DEFAULT_AUDIT_ENTRIES = 100

MONTH = Parameter(
    name="month",
    description="The UTC month, `YYYY-MM`; without it, the present one.",
    schema={"type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$"},
    read=parse_month,
)
AUDIT_LIMIT = Parameter(
    name="limit",
    description="How many entries to return, 1 to 1,000; more counts as 1,000. Default 100.",
    schema={"type": "integer", "minimum": 1, "default": DEFAULT_AUDIT_ENTRIES},
    read=lambda text: integer(text, least=1, most=MAX_AUDIT_ENTRIES),
    default=DEFAULT_AUDIT_ENTRIES,
)
AUDIT_ACCOUNT = Parameter(
    name="account",
    description="Only changes of what belongs to this account.",
    schema={"type": "string"},
    read=str,
)
ACTOR = Parameter(
    name="actor",
    description="Only what this key, by its id, person, or `command-line` did.",
    schema={"type": "string"},
    read=str,
)
ACTION = Parameter(
    name="action",
    description="Only changes of this kind, such as `blacklist.add`.",
    schema={"type": "string"},
    read=str,
)
SUBJECT = Parameter(
    name="name",
    description="Only changes of what is called so in the source: a piece by its id, all else by its name.",
    schema={"type": "string"},
    read=str,
)
BEFORE = Parameter(
    name="before",
    description="Only what was done before a moment: a time (RFC 3339), or the `x-penchant-next` of the page before.",
    schema={"type": "string"},
    read=parse_audit_moment,
)


@ADMINISTRATION.operation(
    "GET",
    "/-/admin/usage",
    about=EVERYBODY,
    parameters=(MONTH,),
    admin=True,
    personal=True,
    answer="UsageReport",
)
async def usage(call: Call) -> Answer:
    """Recommendation answers of a month by account, with the account's sources and pieces."""
    month = call.values()[MONTH.name] or current_month()
    accounts = await call.services.of(Administration).usage(month)
    return Answer(body=encode(UsageReport(month=month, accounts=accounts)))


@ADMINISTRATION.operation(
    "GET",
    "/-/admin/audit",
    about=EVERYBODY,
    parameters=(AUDIT_ACCOUNT, ACTOR, BEFORE, AUDIT_LIMIT),
    admin=True,
    personal=True,
    answer="AuditLog",
)
async def audit(call: Call) -> Answer:
    """Who changed what, newest first."""
    page = await call.services.of(Administration).audit(audit_query(call), call.values()[AUDIT_ACCOUNT.name])
    return audit_answer(page)


def audit_query(call: Call) -> AuditQuery:
    """Return which entries of the audit log a call asks for."""
    values = call.values()
    return AuditQuery(**{each.name: values[each.name] for each in (ACTOR, BEFORE, AUDIT_LIMIT)})


def audit_answer(page: AuditPage) -> Answer:
    """Return the answer with a page of the audit log."""
    headers = {} if page.next is None else {"x-penchant-next": str(page.next)}
    return Answer(body=encode(page.answer()), headers=headers)


@ADMINISTRATION.operation("GET", "/-/admin/keys", about=EVERYBODY, admin=True, personal=True, answer="KeyList")
async def list_keys(call: Call) -> Answer:
    """Every key by its id, oldest first; revoked ones stay listed."""
    return Answer(body=encode(KeyList(keys=await call.services.of(Administration).keys())))


@ADMINISTRATION.operation("GET", "/-/admin/plans", about=EVERYBODY, admin=True, personal=True, answer="PlanList")
async def list_plans(call: Call) -> Answer:
    """The plans that keys may have, by name; they are named in the settings."""
    return Answer(body=encode(PlanList(plans=call.services.of(Administration).plans())))


@ADMINISTRATION.operation(
    "POST",
    "/-/admin/keys",
    about=EVERYBODY,
    status=201,
    admin=True,
    personal=True,
    body_kind=SETTINGS_BODY,
    body="KeyWish",
    answer="IssuedKeyAnswer",
)
async def create_key(call: Call) -> Answer:
    """Make a key, and its account where that is missing. The key itself is answered this once."""
    wish = await call.decode_body(decode_key_wish)
    return Answer(body=encode(await call.services.of(Administration).create(call.access, wish)), status=201)


@ADMINISTRATION.operation(
    "POST",
    "/-/admin/accounts/{account}/secret",
    about=EVERYBODY,
    status=201,
    admin=True,
    personal=True,
    answer="SigningSecret",
)
async def roll_secret(call: Call) -> Answer:
    """Give an account another secret to sign people with; what the old one signed ends."""
    secret = await call.services.of(Administration).roll_secret(call.access, call.path["account"])
    return Answer(body=encode(secret), status=201)


@ADMINISTRATION.operation(
    "DELETE", "/-/admin/keys/{keyID}", about=EVERYBODY, admin=True, personal=True, answer="KeyAnswer"
)
async def revoke_key(call: Call) -> Answer:
    """Revoke a key, which may be revoked already; it stops working within a second."""
    call.check_path()
    return Answer(body=encode(await call.services.of(Administration).revoke(call.access, call.path["keyID"])))


@ADMINISTRATION.operation(
    "PUT",
    "/-/admin/keys/{keyID}/plan",
    about=EVERYBODY,
    admin=True,
    personal=True,
    body_kind=SETTINGS_BODY,
    body="PlanWish",
    answer="KeyAnswer",
)
async def set_plan(call: Call) -> Answer:
    """Put a key into a plan, in which it may be already; it holds within a second."""
    call.check_path()
    wish = await call.decode_body(decode_plan_wish)
    return Answer(
        body=encode(await call.services.of(Administration).set_plan(call.access, call.path["keyID"], wish.plan))
    )
