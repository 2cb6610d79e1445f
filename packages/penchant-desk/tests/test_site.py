"""The dashboard's pages, without a browser: signing in, what they show, and what they refuse."""

import re
import threading
from typing import Any

import pytest

from acceptance.processes import wait_until
from factories import piece
from penchant_desk.charts import steps
from penchant_desk.site import DeskSite
from serving import Service
from visitors import HOME, Visitor, fields_of, text_of

PAGES = ("sources", "desk", "pieces", "piece", "user", "try", "lists", "placements", "placement", "settings", "health")
ADMIN_PAGES = ("keys", "usage", "audit")


def test_who_is_not_signed_in_is_led_to_it_and_back(filled: Service) -> None:
    visitor = Visitor(filled)

    turned = visitor.get("piece", source="s", id="a/ü")
    form = visitor.ask("GET", turned.headers["location"])
    signed_in = visitor.fill(form, f"{HOME}/sign-in", key=filled.key)

    assert (turned.status_code, signed_in.status_code) == (303, 303)
    assert signed_in.headers["location"] == f"{HOME}/piece?source=s&id=a%2F%C3%BC"


def test_signing_in_leads_to_no_other_site(filled: Service) -> None:
    for elsewhere in ("//evil.example", "https://evil.example", "\\evil", "../keys", "a\nb"):
        visitor = Visitor(filled)
        signed_in = visitor.fill(visitor.get("sign-in"), f"{HOME}/sign-in", key=filled.key, next=elsewhere)

        assert signed_in.headers["location"] == HOME, elsewhere


def test_the_cookie_holds_no_key_and_no_script_sees_it(filled: Service) -> None:
    set_cookie = Visitor(filled).sign_in(filled.key).headers["set-cookie"]

    assert "; HttpOnly" in set_cookie
    assert "; SameSite=Strict" in set_cookie
    assert f"; Path={HOME};" in set_cookie
    assert "Secure" not in set_cookie
    secret = filled.key.split("_")[2]
    assert secret not in set_cookie
    assert secret.encode().hex() not in set_cookie


def test_the_cookie_is_for_tls_only_where_the_browser_speaks_it(filled: Service) -> None:
    visitor = Visitor(filled)
    fields = list((dict(fields_of(visitor.get("sign-in").text, f"{HOME}/sign-in")) | {"key": filled.key}).items())
    host = visitor.origin.partition("://")[2]

    answer = visitor.send(f"{HOME}/sign-in", fields, origin=f"https://{host}")

    assert answer.status_code == 303
    assert answer.headers["set-cookie"].endswith("; Secure")


def test_a_token_that_is_changed_is_none(visitor: Visitor) -> None:
    token = visitor.cookies["penchant-session"]

    for changed in ("x", token[:-1], token + "0", token.upper()):
        assert visitor.ask("GET", HOME, cookies={"penchant-session": changed}).status_code == 303, changed


def test_a_revoked_key_ends_the_session(visitor: Visitor, filled: Service) -> None:
    assert visitor.get("sources").status_code == 200
    with filled.opened_storage() as storage:
        storage.keys.revoke(filled.key.split("_")[1], actor="test")

    wait_until(lambda: visitor.get("sources").status_code == 303)


def test_signing_out_ends_the_session_in_the_browser_and_on_the_server(visitor: Visitor) -> None:
    token = visitor.cookies["penchant-session"]
    answer = visitor.fill(visitor.get("sources"), f"{HOME}/sign-out")

    out = visitor.send(f"{HOME}/sign-out", fields_of(visitor.get("sources").text, f"{HOME}/sign-out"))

    assert answer.status_code == 405
    assert (out.status_code, out.headers["location"]) == (303, f"{HOME}/sign-in")
    assert visitor.get("sources").status_code == 303
    assert visitor.ask("GET", HOME, cookies={"penchant-session": token}).status_code == 303


def test_a_number_with_two_signs_is_a_fault(visitor: Visitor) -> None:
    fields = dict(fields_of(visitor.get("settings", source="s").text, f"{HOME}/settings"))

    answer = visitor.send(f"{HOME}/settings?source=s", list((fields | {"halfLifeDays": "--5", "do": "try"}).items()))

    assert answer.status_code == 422


def test_who_is_signed_in_needs_no_form(visitor: Visitor) -> None:
    answer = visitor.get("sign-in")

    assert (answer.status_code, answer.headers["location"]) == (303, HOME)


def test_a_form_to_sign_in_works_in_two_tabs_and_from_no_other_site(filled: Service) -> None:
    visitor = Visitor(filled)
    first, second = visitor.get("sign-in"), visitor.get("sign-in")
    fields = list((dict(fields_of(first.text, f"{HOME}/sign-in")) | {"key": filled.key}).items())

    refused = visitor.send(f"{HOME}/sign-in", fields, origin="https://evil.example")
    unproved = Visitor(filled).send(f"{HOME}/sign-in", fields)

    assert (refused.status_code, unproved.status_code) == (403, 403)
    assert visitor.fill(second, f"{HOME}/sign-in", key=filled.key).status_code == 303
    assert visitor.send(f"{HOME}/sign-in", fields).status_code == 303


def test_a_wrong_key_is_told(filled: Service) -> None:
    for key in ("", "pk_no_such", "nothing", "pk_" + "x" * 290):
        answer = Visitor(filled).sign_in(key)

        assert (answer.status_code, "The API key" in text_of(answer.text)) == (401, True), key


def test_a_form_from_elsewhere_is_refused(visitor: Visitor, filled: Service) -> None:
    path = f"{HOME}/lists?source=s"
    fields = [*fields_of(visitor.get("lists", source="s").text, f"{HOME}/lists"), ("add", "a")]
    forged = [(name, "0" * 32 if name == "proof" else value) for name, value in fields]
    unproved = [(name, value) for name, value in fields if name != "proof"]

    refused = (
        visitor.send(path, fields, origin=None),
        visitor.send(path, fields, origin="null"),
        visitor.send(path, fields, origin="https://evil.example"),
        visitor.send(path, fields, origin="null", **{"sec-fetch-site": "same-origin"}),
        visitor.send(path, forged),
        visitor.send(path, unproved),
    )

    assert [answer.status_code for answer in refused] == [403] * 6
    assert "Not a form of this dashboard" in refused[0].text
    behind_a_proxy = visitor.send(path, fields, origin="https://front", **{"sec-fetch-site": "same-origin"})
    assert behind_a_proxy.status_code == 303
    # A proof is of one session.
    assert Visitor(filled, filled.key).send(path, fields).status_code == 403


def test_a_form_that_is_none_is_refused(visitor: Visitor) -> None:
    headers = {"origin": visitor.origin}
    form = headers | {"content-type": "application/x-www-form-urlencoded"}

    assert visitor.ask("POST", f"{HOME}/lists?source=s", json={}, headers=headers).status_code == 415
    assert visitor.ask("POST", f"{HOME}/lists?source=s", content=b"a=%ff", headers=form).status_code == 400
    assert visitor.ask("POST", f"{HOME}/lists?source=s", content=b"\xff", headers=form).status_code == 400
    assert visitor.ask("POST", f"{HOME}/lists?source=s", content=b"a" * 2_100_000, headers=form).status_code == 413


@pytest.mark.slow
def test_pages_are_kept_nowhere_and_may_load_nothing_from_elsewhere(visitor: Visitor) -> None:
    for page in PAGES:
        answer = visitor.get(page, source="s", id="a")

        assert answer.status_code == 200, page
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; "), page
        assert "unsafe" not in policy, page
        assert answer.headers["cache-control"] == "no-store", page
        assert answer.headers["x-content-type-options"] == "nosniff", page
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|https?://(?!www.w3.org)", answer.text), page
        scripts = re.findall(r"<script[^>]*>", answer.text)
        assert scripts == re.findall(r'<script src="/-/dashboard/static/[^>]*>', answer.text), page
    head = visitor.ask("HEAD", f"{HOME}/pieces", params={"source": "s"})
    assert (head.status_code, head.content) == (200, b"")


@pytest.mark.slow
def test_pages_weigh_little_however_much_there_is(filled: Service, visitor: Visitor) -> None:
    long = "A label of some length, as titles are, with a subtitle and more than can be shown "
    terms = {f"category {number:03}": [f"keyword {number}", f"another one {number}"] for number in range(150)}
    ids = [f"{long}{number}" for number in range(120)]
    pieces = [{"id": each, "label": f"{number} {long}", "categories": terms} for number, each in enumerate(ids)]
    filled.submit("large", *pieces)
    filled.put("/large/whitelist", json=ids)
    for number in range(20):
        assert filled.put(f"/large/placements/{number:055}", json={"kind": "new"}).status_code == 200
    likes = [{"userId": "kim", "type": "Watch", "contentId": each} for each in ids[:40]]
    assert filled.post("/large/interactions", json=likes).status_code == 200
    for _ in range(60):
        filled.new_key(account=f"{filled.account}-{long}")
    files = set(re.findall(r'(?:href|src)="([^"]+/static/[^"]+)"', visitor.get("sources").text))
    shared = sum(len(visitor.ask("GET", path).content) for path in files)

    query = {"source": "large", "id": ids[0], "other": ids[1]}
    weights = {page: len(visitor.get(page, **query).content) for page in PAGES if page != "user"}
    weights["front"] = len(visitor.get("front", source="large").content)
    weights["user"] = len(visitor.get("user", **query | {"id": "kim"}).content)
    visitor = Visitor(filled, filled.new_key(account=f"{filled.account}-operators", admin=True))
    weights |= {page: len(visitor.get(page).content) for page in ADMIN_PAGES}

    assert not {page: weight for page, weight in weights.items() if weight + shared > 100_000}


def test_other_methods_and_addresses_are_answered_as_everywhere(visitor: Visitor) -> None:
    wrong = visitor.ask("PUT", HOME)

    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD")
    assert visitor.ask("GET", f"{HOME}/").status_code == 404
    assert visitor.ask("GET", f"{HOME}/nothing").status_code == 404
    assert visitor.ask("GET", f"{HOME}/static/nothing.css").status_code == 404


def test_files_have_a_version_and_a_tag(visitor: Visitor) -> None:
    page = visitor.get("sources").text
    for path in re.findall(r'(?:href|src)="(/-/dashboard/static/[^"]+)"', page):
        answer = visitor.ask("GET", path)
        plain = visitor.ask("GET", path.partition("?")[0])
        again = visitor.ask("GET", path, headers={"if-none-match": answer.headers["etag"]})

        assert "immutable" in answer.headers["cache-control"]
        assert plain.headers["cache-control"] == "no-cache"
        assert again.status_code == 304


def test_a_source_that_is_none_is_told(visitor: Visitor) -> None:
    for source, status in (("", 422), ("none", 404), ("-", 422), ("x" * 201, 422)):
        answer = visitor.get("pieces", source=source)

        assert (answer.status_code, 'role="alert"' in answer.text) == (status, True), source


def test_a_chart_is_as_high_as_its_greatest_day() -> None:
    assert steps([0, 2, 1]) == "M0 60V60h1V0h1V30h1V60Z"
    assert steps([0, 0]) == "M0 60V60h1V60h1V60Z"
    assert "V59h1" in steps([1, 100_000])


def test_the_overview_tells_of_each_source(visitor: Visitor, filled: Service) -> None:
    filled.submit("empty")
    shown = text_of(visitor.get().text)

    assert "Pieces\n5" in shown or "Pieces5" in re.sub(r"\s+", "", shown)
    assert "3 interactions in 30 days, at most 3 on" in shown
    assert "0 interactions in 30 days" in shown
    assert "Refused (4xx)" in shown
    assert "not read yet" in shown


def test_interactions_are_counted_anew_when_there_are_new_ones(visitor: Visitor, filled: Service) -> None:
    assert "3 interactions" in text_of(visitor.get("sources").text)
    filled.post("/s/users/kim/interactions/Click/content/b")

    assert "4 interactions" in text_of(visitor.get("sources").text)


def test_an_account_without_sources_is_told_how_to_begin(filled: Service) -> None:
    visitor = Visitor(filled, filled.new_key(account=f"{filled.account}-other"))

    assert "has no source yet" in text_of(visitor.get().text)


@pytest.mark.slow
def test_sources_are_paged(filled: Service) -> None:
    for number in range(21):
        filled.submit(f"s{number:02}")
    visitor = Visitor(filled, filled.key)

    first, second = visitor.get(), visitor.get(skip="20")

    assert "Further sources" in first.text
    assert "Earlier sources" in second.text
    assert "s20" in second.text


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_pages_are_made_beside_the_event_loop(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    written = DeskSite._written

    def noted(*given: Any) -> Any:
        made.append(threading.current_thread().name)
        return written(*given)

    monkeypatch.setattr(DeskSite, "_written", noted)
    service.submit("s", piece("a", "x"))
    visitor = Visitor(service, service.key)
    for page in ("pieces", "search", "lists"):
        assert visitor.ask("GET", f"{HOME}/{page}?source=s").status_code == 200

    # With the form to sign in.
    assert len(made) == 4
    assert threading.main_thread().name not in made
