"""Handlers of signing in with a key, of signing out, and of the choice among several accounts."""

import re
import secrets

from penchant.errors import PenchantError, RateExceeded, Unauthenticated, invalid_parameter
from penchant.service.access import SESSION_S
from penchant.web.dashboard.entering import ACCOUNT_COOKIE, SESSION_COOKIE, named_session, session_of, sessions_of
from penchant.web.dashboard.forms import cookie, read_form, require_own, set_cookie
from penchant.web.dashboard.site import DashboardSite, PageAnswer, RedirectAnswer, Visit, turned
from penchant.web.operations import Answer, Call

FORM_COOKIE = "penchant-form"
"""Holds the proof of the form to sign in, since there is no session yet whose proof it could be."""
FORM_COOKIE_S = 3600
MAX_KEY_FIELD = 300
ACCOUNT_COOKIE_S = 30 * 24 * 3600
_PROOF = re.compile(r"[0-9a-f]{32}\Z")


class SignInPages:
    """Signs people in and out of a site."""

    def __init__(self, site: DashboardSite) -> None:
        self._site = site

    async def form(self, call: Call) -> Answer:
        """Show the form to sign in; in a session, lead on to the first page."""
        try:
            await session_of(call)
        except Unauthenticated:
            return await self._shown(call, after=_last(call.query.values("next")))
        except PenchantError as error:
            return self._site.problem(call, error, None)
        return turned(RedirectAnswer(path=self._site.link()))

    async def sign_in(self, call: Call) -> Answer:
        """Take a key, and answer with a session that stands for it."""
        try:
            await call.services.admission.enter()
            if named_session(call) is not None:
                # The person is signed in already; a key's session would not be looked at.
                return turned(RedirectAnswer(path=self._site.link()))
            form = await read_form(call)
            # The form's field and the cookie must agree: another site can make neither.
            require_own(call, form, cookie(call, FORM_COOKIE))
            session = await sessions_of(call).begin(form.text("key").strip()[:MAX_KEY_FIELD])
            rate = await call.services.access.count_request(session.access)
            if rate is not None and rate.exceeded:
                raise RateExceeded(f"The key's plan allows {rate.limit} requests a second.", retry_after_s=1)
        except Unauthenticated as error:
            call.services.metrics.problems.labels(error.code).inc()
            # As for keys in a header: this form is no quicker way to try them.
            await call.services.access.failed_keys.slow_down(call.exchange.client_address())
            return await self._shown(call, after=form.text("next"), fault=error.detail, status=401)
        except PenchantError as error:
            return self._site.problem(call, error, None)
        begun = set_cookie(call, SESSION_COOKIE, session.token, path=self._site.home, age_s=SESSION_S)
        return turned(RedirectAnswer(path=self._after(form.text("next")), headers={"set-cookie": begun}))

    async def sign_out(self, visit: Visit) -> PageAnswer | RedirectAnswer:
        """End the session of a key, in this browser and wherever its id was copied to."""
        await sessions_of(visit.call).end(cookie(visit.call, SESSION_COOKIE))
        ended = set_cookie(visit.call, SESSION_COOKIE, "", path=self._site.home, age_s=0)
        # A person whom a proxy names is signed in there, and comes to the first page again.
        return RedirectAnswer(path=self._site.link("sign-in"), headers={"set-cookie": ended})

    async def accounts(self, visit: Visit) -> PageAnswer:
        """Show the accounts that a person's groups open; a key has one."""
        return PageAnswer(template="accounts.html", values={"grants": visit.session.grants})

    async def choose_account(self, visit: Visit) -> RedirectAnswer:
        """Work in another account from now on, in this browser.

        Raises:
            InvalidInput: none of the person's has this mark.
        """
        mark = visit.form.text("account")
        if mark not in {grant.mark for grant in visit.session.grants}:
            raise invalid_parameter("account", "Found none of your accounts; open the page anew.")
        kept = set_cookie(visit.call, ACCOUNT_COOKIE, mark, path=self._site.home, age_s=ACCOUNT_COOKIE_S)
        return RedirectAnswer(path=self._site.link(), headers={"set-cookie": kept})

    async def _shown(self, call: Call, *, after: str, fault: str | None = None, status: int = 200) -> Answer:
        known = cookie(call, FORM_COOKIE)
        # Kept where there is one, so that forms in two tabs both work.
        proof = known if _PROOF.match(known) else secrets.token_hex(16)
        kept = set_cookie(call, FORM_COOKIE, proof, path=self._site.home, age_s=FORM_COOKIE_S)
        values = {"proof": proof, "after": after, "fault": fault}
        page = PageAnswer(template="sign_in.html", values=values, status=status, headers={"set-cookie": kept})
        return await self._site.shown_apart(call, page, None)

    def _after(self, page: str) -> str:
        """Return the address to go to after signing in: a page of this dashboard, whatever was given."""
        path, _, query = page.partition("?")
        # No scheme, no host, no slash: the address can only be one below the dashboard.
        plain = path.replace("-", "").isalpha() and path.isascii() and query.isascii() and query.isprintable()
        return self._site.link(path) + (f"?{query}" if query else "") if plain else self._site.link()


def _last(values: list[str]) -> str:
    return values[-1] if values else ""
