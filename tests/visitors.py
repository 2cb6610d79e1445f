"""A browser without scripts: follows links, sends forms as they stand on a page, and keeps cookies."""

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlencode

import httpx

from acceptance.processes import waited_for
from penchant.model import Role
from penchant.settings import GroupSettings

HOME = "/-/dashboard"
GROUPS = (
    GroupSettings(group="readers", account="default", role=Role.VIEWER),
    GroupSettings(group="newsroom", account="default", role=Role.EDITOR),
    GroupSettings(group="film", account="film", role=Role.EDITOR, plan="basic"),
    GroupSettings(group="it", role=Role.ADMIN),
    GroupSettings(group="hurried", account="film", role=Role.VIEWER, plan="hurried"),
)
# What pages say while some of their figures are being found.
UNFINISHED = re.compile("Still being found out|is being counted")
FORM = {"content-type": "application/x-www-form-urlencoded"}
_TAG = re.compile(r"<(input|textarea|select|option)\b([^>]*)>([^<]*)")
_ATTRIBUTE = re.compile(r'([\w-]+)(?:="([^"]*)")?')


def text_of(page: str) -> str:
    """Return what a page shows, roughly: its text without markup."""
    return html.unescape(re.sub(r"<[^>]+>", "", page.partition("<main")[2]))


def fields_of(page: str, action: str) -> list[tuple[str, str]]:
    """Return the names and values of the form with this action (or where it begins so), as they stand."""
    forms = [each.partition("</form>")[0] for each in page.split("<form")[1:]]
    (form,) = [each for each in forms if re.search(rf'action="{re.escape(html.escape(action))}["?#]', each)][:1]
    found: list[tuple[str, str]] = []
    selected = ""
    for tag, inside, following in _TAG.findall(form):
        given = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(inside)}
        if tag == "select":
            selected = given["name"]
        elif tag == "option":
            if "selected" in given:
                found.append((selected, given.get("value", html.unescape(following))))
        elif given.get("type") not in {"checkbox", "radio"} or "checked" in given:
            value = html.unescape(following).removeprefix("\n") if tag == "textarea" else given.get("value", "")
            found.append((given["name"], value))
    return found


def words(answer: Any, section: str) -> str:
    """Return the text of a section of a page, one space between all words."""
    part = answer.text.partition(f'id="{section}"')[2].partition("</main>")[0]
    return " ".join(text_of("<main>" + re.sub("<", " <", part)).split())


def found_neighbours(page: str) -> list[str]:
    """Return the ids in the list of a page."""
    shelf = page.partition(" data-list>")[2].partition("</ul>")[0]
    listed = shelf or page.partition('<ol class="entries">')[2].partition("</ol>")[0]
    return re.findall(r'href="[^"]*[?&]id=([^&"]+)', listed.replace("&amp;", "&"))


class VisitedService(Protocol):
    """A service in this process, or one of its own."""

    client: httpx.Client


class Visitor:
    """Somebody at the dashboard of a service under test.

    It keeps its cookies itself: where requests go to several nodes in turn, a client takes them for several sites.
    """

    def __init__(self, service: VisitedService, key: str | None = None) -> None:
        self._client = service.client
        self.cookies: dict[str, str] = {}
        self.origin = str(self._client.base_url).rstrip("/")
        if key is not None:
            assert self.sign_in(key).status_code == 303

    def ask(self, method: str, path: str, *, cookies: Mapping[str, str] | None = None, **options: Any) -> Any:
        """Send a request with cookies, its own or other ones, following nothing."""
        sent = self.cookies if cookies is None else cookies
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in sent.items())} if sent else {}
        self._client.cookies.clear()
        answer = self._client.request(
            method, path, headers=headers | options.pop("headers", {}), follow_redirects=False, **options
        )
        self._client.cookies.clear()
        for text in answer.headers.get_list("set-cookie"):
            name, _, value = text.partition(";")[0].partition("=")
            self.cookies[name] = value
            if "; Max-Age=0;" in text:
                del self.cookies[name]
        return answer

    def get(self, page: str = "", **query: str | list[str]) -> Any:
        """Ask for a page; one whose figures are not there yet is asked for again, as people do."""
        path = f"{HOME}/{page}" if page else HOME
        return waited_for(
            lambda: self.ask("GET", path, params=query), lambda answer: not UNFINISHED.search(answer.text)
        )

    def send(self, path: str, fields: Sequence[tuple[str, str]], *, origin: str | None = "", **headers: str) -> Any:
        """Send a form; ``origin`` of "" is this browser's own, of ``None`` none."""
        sent = FORM | headers | ({} if origin is None else {"origin": origin or self.origin})
        return self.ask("POST", path, content=urlencode(fields).encode(), headers=sent)

    def fill(self, answer: Any, action: str, *, without: Sequence[str] = (), **given: str) -> Any:
        """Send the form of a page as it stands, with some fields given anew or left out."""
        kept = [(name, value) for name, value in fields_of(answer.text, action) if name not in {*given, *without}]
        return self.send(str(answer.request.url.raw_path.decode()), [*kept, *given.items()])

    def sign_in(self, key: str) -> Any:
        """Sign in with a key."""
        return self.fill(self.get("sign-in"), f"{HOME}/sign-in", key=key)


class Person(Visitor):
    """Somebody whom the proxy of the house names, together with their groups."""

    def __init__(self, service: VisitedService, *groups: str, name: str = "kim") -> None:
        super().__init__(service)
        self.named: dict[str, Any] = {"remote-user": name.encode(), "remote-groups": ",".join(groups)}

    def ask(self, method: str, path: str, **options: Any) -> Any:
        """Send a request as the proxy hands it on."""
        return super().ask(method, path, headers=self.named | options.pop("headers", {}), **options)
