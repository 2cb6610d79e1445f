"""The desk as a process of its own, before a service elsewhere."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server, free_port, new_key
from factories import piece
from penchant_desk.application import ROUTES
from visitors import HOME, Visitor, fields_of, text_of

pytestmark = pytest.mark.slow
PROGRAM = "from penchant_desk.command import main; main()"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("served") / "data") as running:
        yield running


class Desk:
    """A desk that runs, and a client of it."""

    def __init__(self, port: int) -> None:
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)

    def answers(self) -> bool:
        try:
            return self.client.get(f"{HOME}/sign-in").status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def desk_before(url: str, port: int) -> Iterator[Desk]:
    words = [sys.executable, "-c", PROGRAM, "--url", url, "--port", str(port)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        desk = Desk(port)
        try:
            wait_until(desk.answers)
            yield desk
        finally:
            desk.client.close()
            process.terminate()


def test_people_sign_in_with_keys_of_the_service_until_the_desk_is_restarted(server: Server) -> None:
    port = free_port()
    with desk_before(server.url, port) as desk:
        visitor = Visitor(desk)
        wrong = visitor.sign_in("pk_no_such")
        looking = visitor.sign_in(new_key(server.data, scopes=("read", "personal")))
        signed = visitor.sign_in(server.key)
        page = visitor.get("accounts")
        cookies = dict(visitor.cookies)

        assert (wrong.status_code, "The API key is not known" in wrong.text) == (401, True)
        assert (looking.status_code, "needs read, personal and write" in text_of(looking.text)) == (401, True)
        assert (signed.status_code, page.status_code) == (303, 200)
        assert server.key.split("_")[1] in page.text
        assert server.key not in str(cookies) + page.text
        assert visitor.get("keys").status_code == 403
        assert Visitor(desk).get("accounts").headers["location"].startswith(f"{HOME}/sign-in")
    with desk_before(server.url, port) as desk:
        visitor = Visitor(desk)
        visitor.cookies = cookies

        assert visitor.get("accounts").status_code == 303
        assert visitor.sign_in(server.key).status_code == 303
        visitor.send(f"{HOME}/sign-out", fields_of(visitor.get("accounts").text, f"{HOME}/sign-out"))
        assert visitor.get("accounts").status_code == 303


def test_all_pages_are_shown_alone_to_editors_and_admins(server: Server) -> None:
    server.client.post("/s/content", json=[piece("a", "x", label="First"), piece("b", "x")])
    server.client.put("/s/placements/row", json={"kind": "new"})
    server.client.put("/s/drafts/spring", json={"blacklist": ["a"]})
    asked = {"source": "s", "id": "a", "user": "kim", "q": "First"}
    named = {"proposal": "spring", "placement": "row", "results": "row", "card": "row", "row-versions": "row"}
    pages = {name for name, route in ROUTES.items() if route.show and not route.admin and not route.is_public}
    of_admins = {name for name, route in ROUTES.items() if route.admin}
    with desk_before(server.url, free_port()) as desk:
        editor, admin = Visitor(desk, server.key), Visitor(desk, new_key(server.data, admin=True))

        shown = {page: editor.get(page, **asked, name=named.get(page, "")).status_code for page in pages - {""}}
        shown |= {page: admin.get(page).status_code for page in of_admins}

    assert shown == dict.fromkeys(pages - {""} | of_admins, 200)


def test_a_service_that_is_away_is_told() -> None:
    with desk_before(f"http://127.0.0.1:{free_port()}", free_port()) as desk:
        answer = Visitor(desk).sign_in("pk_some_key")

    assert (answer.status_code, "does not answer" in answer.text) == (503, True)
