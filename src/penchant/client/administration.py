"""Requests that need a key with the admin role, and those that need none."""

from typing import Any

from penchant.client.requests import Answered, Request, query_of
from penchant.wire import AuditLog, KeyAnswer, KeyList, KeyWish, NewKeyAnswer, UsageReport, encode
from penchant.wire.records import Health


def usage(*, month: str | None = None) -> Request[UsageReport]:
    """Read the usage of all accounts in a UTC month (``YYYY-MM``), without one the present."""
    return _reading("/-/admin/usage", UsageReport, month=month)


def audit(*, limit: int | None = None) -> Request[AuditLog]:
    """Read who changed what, newest first: 100 entries without a limit, at most 1,000."""
    return _reading("/-/admin/audit", AuditLog, limit=limit)


def list_keys() -> Request[KeyList]:
    """Read every key by its id, revoked ones as well."""
    return _reading("/-/admin/keys", KeyList)


def create_key(
    account: str, *, plan: str = "full", admin: bool = False, expires_in_days: int | None = None
) -> Request[NewKeyAnswer]:
    """Make a key, and its account where that is missing. The key itself is in this answer alone."""
    wish = KeyWish(account=account, plan=plan, admin=admin, expires_in_days=expires_in_days)
    return Request(method="POST", template="/-/admin/keys", answer=NewKeyAnswer, body=encode(wish))


def revoke_key(key_id: str) -> Request[KeyAnswer]:
    """Revoke a key, which may be revoked already."""
    return Request(
        method="DELETE", template="/-/admin/keys/{keyID}", places={"keyID": key_id}, answer=KeyAnswer, repeatable=True
    )


def set_plan(key_id: str, plan: str) -> Request[KeyAnswer]:
    """Put a key into another plan."""
    return Request(
        method="PUT",
        template="/-/admin/keys/{keyID}/plan",
        places={"keyID": key_id},
        answer=KeyAnswer,
        body=encode({"plan": plan}),
        repeatable=True,
    )


def live() -> Request[Health]:
    """Ask whether the process runs."""
    return _reading("/-/health/live", Health)


def ready() -> Request[Health]:
    """Ask whether requests can be served; `StorageUnavailable` while the database is away."""
    return _reading("/-/health/ready", Health)


def metrics() -> Request[str]:
    """Read the metrics, in the Prometheus text form."""
    return _reading("/-/metrics", str)


def problem(code: str) -> Request[str]:
    """Read the page that explains an error."""
    return Request(method="GET", template="/-/problems/{code}", places={"code": code}, answer=str, repeatable=True)


def openapi() -> Request[dict[str, Any]]:
    """Read the interface as an OpenAPI 3.1 document."""
    return _reading("/-/openapi.json", dict[str, Any])


def docs() -> Request[str]:
    """Read the interface as a page."""
    return _reading("/-/docs", str)


def _reading(template: str, answer: type[Answered], **options: Any) -> Request[Answered]:
    return Request(method="GET", template=template, answer=answer, query=query_of(options), repeatable=True)
