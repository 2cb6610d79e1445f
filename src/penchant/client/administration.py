"""Requests that need a key with the admin role, and those that need none."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack

from penchant.client.requests import Answered, Request, encode, query_of
from penchant.wire import Addresses, AuditLog, IssuedKeyAnswer, KeyAnswer, KeyList, SigningSecret, UsageReport
from penchant.wire.answers import Health


def usage(*, month: str | None = None) -> Request[UsageReport]:
    """Read the usage of all accounts in a UTC month (``YYYY-MM``), without one the present."""
    return _reading("/-/admin/usage", UsageReport, month=month)


def audit(*, limit: int | None = None) -> Request[AuditLog[datetime]]:
    """Read who changed what, newest first: 100 entries without a limit, at most 1,000."""
    return _reading("/-/admin/audit", AuditLog[datetime], limit=limit)


def list_keys() -> Request[KeyList[datetime]]:
    """Read every key by its id, revoked ones as well."""
    return _reading("/-/admin/keys", KeyList[datetime])


_KEY_MEMBERS = {
    "expiresInDays": "expires_in_days",
    "requestsPerSecond": "requests_per_second",
    "requestsPerMonth": "requests_per_month",
}


class KeyOptions(TypedDict, total=False):
    """What a key may do and for how long: all scopes for ever, unless these say otherwise.

    A key with ``origins`` is a browser key: for pages of these origins, and for people who are signed. It allows
    ``requests_per_second`` from one address (20 without) and ``requests_per_month`` (a tenth of the plan's).
    """

    plan: str
    admin: bool
    expires_in_days: int | None
    scopes: Sequence[str]
    origins: Sequence[str]
    requests_per_second: int | None
    requests_per_month: int | None


def create_key(account: str, **options: Unpack[KeyOptions]) -> Request[IssuedKeyAnswer[datetime]]:
    """Make a key, and its account where that is missing. The key itself is in this answer alone."""
    wish: dict[str, Any] = {"account": account, **options}
    for member, name in _KEY_MEMBERS.items():
        wish[member] = wish.pop(name, None)
    # Not repeatable: where the answer is lost, another attempt would make a second key.
    return Request(method="POST", template="/-/admin/keys", answer=IssuedKeyAnswer[datetime], body=encode(wish))


def roll_secret(account: str) -> Request[SigningSecret]:
    """Give an account, made if it is missing, another secret to sign people with; what the old one signed ends."""
    return Request(
        method="POST",
        template="/-/admin/accounts/{account}/secret",
        places={"account": account},
        answer=SigningSecret,
    )


def revoke_key(key_id: str) -> Request[KeyAnswer[datetime]]:
    """Revoke a key, which may be revoked already."""
    return Request(
        method="DELETE",
        template="/-/admin/keys/{keyID}",
        places={"keyID": key_id},
        answer=KeyAnswer[datetime],
        repeatable=True,
    )


def set_plan(key_id: str, plan: str) -> Request[KeyAnswer[datetime]]:
    """Put a key into another plan."""
    return Request(
        method="PUT",
        template="/-/admin/keys/{keyID}/plan",
        places={"keyID": key_id},
        answer=KeyAnswer[datetime],
        body=encode({"plan": plan}),
        repeatable=True,
    )


def addresses() -> Request[Addresses]:
    """Read where the documents, the dashboard and the OpenAPI document are."""
    return _reading("/", Addresses)


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


def openapi(*, generators: bool = False) -> Request[dict[str, Any]]:
    """Read the interface as an OpenAPI 3.1 document, or as 3.0.3 for tools that take no values of several forms."""
    options = {"for": "generators"} if generators else {}
    return _reading("/-/openapi.json", dict[str, Any], **options)


def docs() -> Request[str]:
    """Read the interface as a page."""
    return _reading("/-/docs", str)


def _reading(template: str, answer: type[Answered], **options: Any) -> Request[Answered]:
    return Request(method="GET", template=template, answer=answer, query=query_of(options), repeatable=True)
