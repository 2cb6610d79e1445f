"""What may keys with the admin role ask for? Their operations below ``/-/admin``, and the handlers of these."""

from penchant.service.administration import MAX_AUDIT_ENTRIES, current_month
from penchant.web.bodies import JSON
from penchant.web.operations import Answer, Call, Operation
from penchant.web.parameters import Parameter, integer
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
    wish = decode_key_wish(call.body)
    return Answer(body=encode(await call.services.administration.create(call.access, wish)), status=201)


async def revoke_key(call: Call) -> Answer:
    """Revoke a key and answer its state."""
    call.check_path()
    return Answer(body=encode(await call.services.administration.revoke(call.access, call.path["keyID"])))


async def set_plan(call: Call) -> Answer:
    """Put a key into a plan and answer its state."""
    call.check_path()
    wish = decode_plan_wish(call.body)
    return Answer(body=encode(await call.services.administration.set_plan(call.access, call.path["keyID"], wish.plan)))


ADMINISTRATION = (
    Operation(
        method="GET",
        path="/-/admin/usage",
        name="usage",
        summary="Recommendation answers of a month by account, with the account's sources and pieces.",
        handler=usage,
        tag="administration",
        parameters=(MONTH,),
        admin=True,
        personal=True,
        answer="UsageReport",
    ),
    Operation(
        method="GET",
        path="/-/admin/audit",
        name="audit",
        summary="Who changed what, newest first.",
        handler=audit,
        tag="administration",
        parameters=(AUDIT_LIMIT,),
        admin=True,
        personal=True,
        answer="AuditLog",
    ),
    Operation(
        method="GET",
        path="/-/admin/keys",
        name="listKeys",
        summary="Every key by its id, oldest first; revoked ones stay listed.",
        handler=list_keys,
        tag="administration",
        admin=True,
        personal=True,
        answer="KeyList",
    ),
    Operation(
        method="POST",
        path="/-/admin/keys",
        name="createKey",
        summary="Make a key, and its account where that is missing. The key itself is answered this once.",
        handler=create_key,
        tag="administration",
        status=201,
        admin=True,
        personal=True,
        media_types=(JSON,),
        body="KeyWish",
        answer="NewKeyAnswer",
        errors=("unsupported-media-type", "body-too-large", "invalid-syntax", "request-timeout"),
    ),
    Operation(
        method="DELETE",
        path="/-/admin/keys/{keyID}",
        name="revokeKey",
        summary="Revoke a key, which may be revoked already; it stops working within a second.",
        handler=revoke_key,
        tag="administration",
        admin=True,
        personal=True,
        answer="KeyAnswer",
    ),
    Operation(
        method="PUT",
        path="/-/admin/keys/{keyID}/plan",
        name="setPlan",
        summary="Put a key into a plan, in which it may be already; it holds within a second.",
        handler=set_plan,
        tag="administration",
        admin=True,
        personal=True,
        media_types=(JSON,),
        body="PlanWish",
        answer="KeyAnswer",
        errors=("unsupported-media-type", "body-too-large", "invalid-syntax", "request-timeout"),
    ),
)
"""Every operation that needs a key with the admin role."""
