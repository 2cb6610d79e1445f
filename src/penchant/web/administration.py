"""Handlers of administration below ``/-/admin``: keys, plans, usage, the audit log, signing secrets."""

from penchant.service.administration import MAX_AUDIT_ENTRIES, current_month
from penchant.web.operations import Answer, Call
from penchant.web.query import Parameter, integer
from penchant.wire import AuditLog, KeyList, UsageReport, decode_key_wish, decode_plan_wish, encode, parse_month

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


async def usage(call: Call) -> Answer:
    """Answer what every account has, and its recommendation answers of a month."""
    month = call.values()[MONTH.name] or current_month()
    accounts = await call.services.administration.usage(month)
    return Answer(body=encode(UsageReport(month=month, accounts=accounts)))


async def audit(call: Call) -> Answer:
    """Answer the newest entries of the audit log."""
    entries = await call.services.administration.audit(call.values()[AUDIT_LIMIT.name])
    return Answer(body=encode(AuditLog(entries=entries)))


async def list_keys(call: Call) -> Answer:
    """Answer every key by its id."""
    return Answer(body=encode(KeyList(keys=await call.services.administration.keys())))


async def create_key(call: Call) -> Answer:
    """Make a key and answer it, once."""
    wish = await call.decode_body(decode_key_wish)
    return Answer(body=encode(await call.services.administration.create(call.access, wish)), status=201)


async def roll_secret(call: Call) -> Answer:
    """Give an account a fresh signing secret and answer it, once."""
    secret = await call.services.administration.roll_secret(call.access, call.path["account"])
    return Answer(body=encode(secret), status=201)


async def revoke_key(call: Call) -> Answer:
    """Revoke a key and answer its state."""
    call.check_path()
    return Answer(body=encode(await call.services.administration.revoke(call.access, call.path["keyID"])))


async def set_plan(call: Call) -> Answer:
    """Put a key into a plan and answer its state."""
    call.check_path()
    wish = await call.decode_body(decode_plan_wish)
    return Answer(body=encode(await call.services.administration.set_plan(call.access, call.path["keyID"], wish.plan)))
