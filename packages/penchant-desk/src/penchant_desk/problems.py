"""Problems: what went wrong with a page, as the page says it."""

from collections.abc import Mapping
from typing import Any

from penchant_client import ServiceError

NOT_SIGNED_IN = "unauthenticated"


class PageProblem(Exception):
    """A page cannot be shown, or a form not be taken: ``hint`` says what to do, "" where the service explains it."""

    def __init__(  # noqa: PLR0913  # what a problem has
        self,
        status: int,
        code: str,
        title: str,
        detail: str,
        *,
        hint: str = "",
        retry_after_s: float | None = None,
        allow: str = "",
    ) -> None:
        super().__init__(detail)
        own = _OWN.get(code)
        self.status, self.title, self.hint = (status, title, hint) if own is None else own
        self.code = code
        self.detail = detail
        self.retry_after_s = retry_after_s
        self.allow = allow


_OWN: Mapping[str, tuple[int, str, str]] = {
    "foreign-form": (
        403,
        "Not a form of this dashboard",
        (
            "A form came from another site, or from a page of a session that is over. Open the page again, and send it "
            "there."
        ),
    ),
    "refused-person": (
        403,
        "Signed in, and not let in",
        "Who may come in says the setting dashboard-groups: ask those who run this service.",
    ),
    "not-an-editor": (
        403,
        "Only editors change things",
        (
            "Editors are people whose groups have that role in the setting dashboard-groups, and who signs in with a "
            "key that is not limited. Nothing was changed."
        ),
    ),
    "not-an-admin": (
        403,
        "Admin role needed",
        "Keys and plans are for people with the role admin, and for keys that were made with --admin.",
    ),
}
"""What pages alone say, or say otherwise than the service: status, title and hint by code."""


def unknown_page(detail: str) -> PageProblem:
    """Return that there is no such page."""
    hint = "No page has this address; the navigation leads to those that there are."
    return PageProblem(404, "unknown-route", "No such address", detail, hint=hint)


def own_problem(code: str, detail: str) -> PageProblem:
    """Return a problem that only pages have."""
    return PageProblem(0, code, "", detail)


def invalid(detail: str) -> PageProblem:
    """Return that something in the query or the form is not acceptable."""
    return PageProblem(422, "invalid-input", "Not acceptable", detail)


def problem_of_service(error: ServiceError) -> PageProblem:
    """Return an error of the interface as the page says it."""
    return PageProblem(error.status, error.code, error.title, error.detail, retry_after_s=error.retry_after_s)


def problem_of(told: Mapping[str, Any]) -> PageProblem:
    """Return what a host tells of an error."""
    return PageProblem(**told)
