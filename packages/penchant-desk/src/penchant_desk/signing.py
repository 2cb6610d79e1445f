"""Pages of signing in with a key, of signing out, and of the choice among several accounts."""

import re
import secrets

from penchant_desk.problems import NOT_SIGNED_IN, PageProblem, invalid
from penchant_desk.requests import PageRequest
from penchant_desk.sessions import DeskSession, Entrance
from penchant_desk.site import DeskPage, DeskSite, PageVisit, Redirect

SESSION_COOKIE = "penchant-session"
SESSION_S = 12 * 3600
"""How long a browser stays signed in at most: a working day."""
ACCOUNT_COOKIE = "penchant-account"
"""Holds the mark of the account that a person has chosen, which gives nobody any right."""
ACCOUNT_COOKIE_S = 30 * 24 * 3600
FORM_COOKIE = "penchant-form"
"""Holds the proof of the form to sign in, since there is no session yet whose proof it could be."""
FORM_COOKIE_S = 3600
MAX_KEY_FIELD = 300
_PROOF = re.compile(r"[0-9a-f]{32}\Z")


async def session_of(request: PageRequest, entrance: Entrance) -> DeskSession:
    """Return who comes: a person whom a trusted proxy names, or else who signed in with a key.

    Raises:
        PageProblem: nobody is signed in, or it is not clear whom the proxy names.
    """
    # Where a proxy names somebody, that is who it is: the session of a key beside it is not looked at.
    named = entrance.named(request.cookie(ACCOUNT_COOKIE))
    return named or await entrance.read(request.cookie(SESSION_COOKIE))


async def show_form(request: PageRequest, entrance: Entrance, site: DeskSite) -> DeskPage | Redirect:
    """Show the form to sign in; in a session, lead on to the first page."""
    try:
        await session_of(request, entrance)
    except Exception as error:
        problem = error if isinstance(error, PageProblem) else entrance.problem(error)
        if problem is None or problem.code != NOT_SIGNED_IN:
            raise
        return _form(request, site, after=(request.values("next") or [""])[-1])
    return Redirect(path=site.link())


async def sign_in(request: PageRequest, entrance: Entrance, site: DeskSite) -> DeskPage | Redirect:
    """Take a key, and answer with a session that stands for it."""
    await entrance.enter()
    if entrance.named(request.cookie(ACCOUNT_COOKIE)) is not None:
        # The person is signed in already; a key's session would not be looked at.
        return Redirect(path=site.link())
    form = await request.read_form()
    # The form's field and the cookie must agree: another site can make neither.
    request.require_own(form, request.cookie(FORM_COOKIE))
    try:
        session = await entrance.begin(form.text("key").strip()[:MAX_KEY_FIELD])
    except Exception as error:
        problem = error if isinstance(error, PageProblem) else entrance.problem(error)
        if problem is None or problem.code != NOT_SIGNED_IN:
            raise
        return _form(request, site, after=form.text("next"), fault=problem.detail, status=401)
    await entrance.count(session)
    begun = request.set_cookie(SESSION_COOKIE, session.token, path=site.home, age_s=SESSION_S)
    return Redirect(path=_after(site, form.text("next")), headers={"set-cookie": begun})


async def sign_out(visit: PageVisit) -> Redirect:
    """End the session of a key, in this browser and wherever its id was copied to."""
    await visit.entrance.end(visit.request.cookie(SESSION_COOKIE))
    ended = visit.request.set_cookie(SESSION_COOKIE, "", path=visit.site.home, age_s=0)
    # A person whom a proxy names is signed in there, and comes to the first page again.
    return Redirect(path=visit.link("sign-in"), headers={"set-cookie": ended})


async def accounts(visit: PageVisit) -> DeskPage:
    """Show the accounts that a person's groups open; a key has one."""
    return DeskPage(template="accounts.html", values={"grants": visit.session.grants})


async def choose_account(visit: PageVisit) -> Redirect:
    """Work in another account from now on, in this browser.

    Raises:
        PageProblem: none of the person's has this mark.
    """
    mark = visit.form.text("account")
    if mark not in {grant.mark for grant in visit.session.grants}:
        raise invalid("Found none of your accounts; open the page anew.")
    kept = visit.request.set_cookie(ACCOUNT_COOKIE, mark, path=visit.site.home, age_s=ACCOUNT_COOKIE_S)
    return Redirect(path=visit.link(), headers={"set-cookie": kept})


def _form(request: PageRequest, site: DeskSite, *, after: str, fault: str | None = None, status: int = 200) -> DeskPage:
    known = request.cookie(FORM_COOKIE)
    # Kept where there is one, so that forms in two tabs both work.
    proof = known if _PROOF.match(known) else secrets.token_hex(16)
    kept = request.set_cookie(FORM_COOKIE, proof, path=site.home, age_s=FORM_COOKIE_S)
    values = {"proof": proof, "after": after, "fault": fault}
    return DeskPage(template="sign_in.html", values=values, status=status, headers={"set-cookie": kept})


def _after(site: DeskSite, page: str) -> str:
    """Return the address to go to after signing in: a page of this dashboard, whatever was given."""
    path, _, query = page.partition("?")
    # No scheme, no host, no slash: the address can only be one below the dashboard.
    plain = path.replace("-", "").isalpha() and path.isascii() and query.isascii() and query.isprintable()
    return site.link(path) + (f"?{query}" if query else "") if plain else site.link()
