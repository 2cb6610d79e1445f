"""Who may what at the dashboard: every page and form of the routing table, by role and account, keys and people."""

import itertools
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from acceptance.processes import wait_until
from clocks import DAY_S
from factories import piece
from penchant.model import Scope
from penchant.service.grants import grants_of
from penchant.settings import NodeSettings, PlanSettings
from penchant.vocabulary import NO_VOCABULARY
from penchant_desk.application import ROUTES
from penchant_desk.signing import ACCOUNT_COOKIE
from serving import PromptClient, Service, ok
from visitors import GROUPS, HOME, Person, Visitor, fields_of, text_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("alone")]


def names(method: str) -> set[str]:
    """Return the names of what the routing table has below the dashboard."""
    return {name for name, route in ROUTES.items() if route.handler(method) is not None}


OF_ADMINS = {"keys", "usage", "audit"}
OF_NO_SOURCE = {"", "sources", "accounts"}
OF_EVERYBODY = {"sign-out", "accounts"}
"""Forms that change nothing of an account. Whatever the table has beside these sets is walked as of a source."""
OF_ANYBODY = {name for name, route in ROUTES.items() if route.is_public}
PAGES = sorted(names("GET") - OF_ADMINS - OF_NO_SOURCE - OF_ANYBODY)
FORMS = sorted(names("POST") - OF_ADMINS - OF_EVERYBODY)
ASKED = {"id": "a", "name": "row", "user": "kim", "q": "First"}
"""What pages of a source ask for beside it."""


class LaterClock:
    """The real clock, so many days ahead."""

    days = 0

    def __call__(self) -> float:
        return time.time() + self.days * DAY_S


@pytest.fixture
def clock() -> LaterClock:
    return LaterClock()


@pytest.fixture
def settings(settings: NodeSettings) -> NodeSettings:
    return NodeSettings(
        data=settings.data,
        trusted_proxies=("127.0.0.1",),
        dashboard_proxy_header="Remote-User",
        dashboard_proxy_groups_header="Remote-Groups",
        dashboard_groups=GROUPS,
        plans={"hurried": PlanSettings(requests_per_second=1)},
    )


@pytest.fixture
def house(filled: Service) -> Service:
    """The service with a source ``s`` of the account, one ``theirs`` of another, and the same things in both."""
    theirs = filled.new_key(account="film")
    filled.submit("theirs", piece("a", "x", label="First of all"), key=theirs)
    for source, key in (("s", filled.key), ("theirs", theirs)):
        ok(filled.put(f"/{source}/placements/row", json={"kind": "popular"}, key=key))
        ok(filled.put(f"/{source}/drafts/row", json={"blacklist": ["a"]}, key=key))
    return filled


def key_of(*scopes: Scope) -> Callable[[Service], Visitor]:
    return lambda service: Visitor(service, service.new_key(scopes=scopes))


LIMITED = key_of(Scope.READ, Scope.PERSONAL)
VIEWERS = (lambda service: Person(service, "readers"), LIMITED)
EDITORS = (lambda service: Person(service, "newsroom"), key_of(), key_of(*Scope))
ADMINS = (lambda service: Person(service, "it"), lambda service: Visitor(service, service.new_key(admin=True)))


def proof_of(visitor: Visitor) -> str:
    """Return what all forms of a visitor carry."""
    page: str = visitor.get("lists", source="s").text
    proof = page.partition('name="proof" value="')[2].partition('"')[0]
    assert len(proof) == 32
    return proof


@pytest.mark.parametrize("enter", (*VIEWERS, EDITORS[0]))  # a key's own pages are what all other files look at
def test_viewers_and_editors_see_every_page_of_their_sources_alone(
    house: Service, enter: Callable[[Service], Visitor]
) -> None:
    visitor = enter(house)

    assert len(PAGES) > 15
    for page in PAGES:
        own, other, none = [visitor.get(page, source=source, **ASKED) for source in ("s", "theirs", "nowhere")]
        assert own.status_code == 200, page
        assert other.status_code == 404, page
        # Not even that there is such a source is told.
        assert other.text == none.text.replace("nowhere", "theirs"), page
    for page in sorted(OF_ADMINS):
        assert visitor.get(page).status_code == 403, page


def test_the_address_of_a_public_card_has_all_its_names(house: Service) -> None:
    for missing in ("account", "source", "name"):
        names = {"account": "default", "source": "s", "name": "row"} | {missing: ""}
        assert Visitor(house).get("public-card", **names).status_code == 404, missing


@pytest.mark.parametrize("enter", ADMINS)
def test_admins_see_accounts_and_no_source(house: Service, enter: Callable[[Service], Visitor]) -> None:
    visitor = enter(house)

    for page in sorted(OF_ADMINS):
        assert visitor.get(page).status_code == 200, page
    for page in PAGES:
        assert visitor.get(page, source="s", **ASKED).status_code == 403, page
    assert visitor.get().headers["location"] == f"{HOME}/keys"


def stored(service: Service) -> Sequence[Any]:
    """Return what changes of stored things have left, and what two of them are."""
    with service.opened_storage() as storage:
        noted = [(entry.action, entry.subject) for entry in storage.accounts.list_audit(limit=1_000)]
    return [noted, ok(service.get("/s/settings")), ok(service.get("/s/users/kim/interactions"))]


@pytest.mark.parametrize("enter", VIEWERS)
def test_no_form_changes_anything_for_a_viewer(house: Service, enter: Callable[[Service], Visitor]) -> None:
    visitor = enter(house)
    before, proof = stored(house), proof_of(visitor)

    assert len(FORMS) > 7
    for form in FORMS:
        answer = visitor.send(f"{HOME}/{form}?source=s&id=a&name=row", [("proof", proof), ("do", "hide")])
        said = text_of(answer.text)
        assert answer.status_code == 403, form
        assert "Only editors change things" in said, form
        assert f"What the page '{form}' sends" in said, form
        assert "as a viewer" in said, form
    assert stored(house) == before


@pytest.mark.parametrize("enter", EDITORS)
def test_editors_change_their_account_alone_and_no_keys(house: Service, enter: Callable[[Service], Visitor]) -> None:
    visitor = enter(house)
    before, proof = stored(house), proof_of(visitor)

    for form in FORMS:
        address = f"{HOME}/{form}?source=theirs&id=a&name=row"
        assert visitor.send(address, [("proof", proof), ("do", "hide")]).status_code == 404, form
    for form in sorted(OF_ADMINS & names("POST")):
        answer = visitor.send(f"{HOME}/{form}", [("proof", proof), ("account", "film")])
        assert answer.status_code == 403, form
        assert "role admin" in text_of(answer.text), form
    assert stored(house) == before
    assert hide(visitor, "a").status_code == 303
    assert ok(house.get("/s/blacklist")) == ["a"]


def steered(service: Service) -> Sequence[Any]:
    """Return what a source is steered by."""
    return [ok(service.get(f"/s/{each}")) for each in ("settings", "whitelist", "blacklist", "placements")]


STEERING: Mapping[str, Sequence[Mapping[str, str]]] = {
    "piece": [
        *({"do": do} for do in ("hide", "boost", "show", "unboost", "hide")),
        {"do": "pin", "row": "row", "position": "1"},
        {"do": "unpin", "row": "row"},
    ],
    "chosen": [{"id": "b", "do": do} for do in ("hide", "row")],
    "lists": [{"choose": "b"}],
    "settings": [{"do": "save", "halfLifeDays": "7"}],
    "attributes": [{"attribute-name": "y", "attribute-pointer": "/y", "attribute-type": "keyword"}],
    "versions": [{"version": "0"}],
    "health": [{"do": "join", "seen": NO_VOCABULARY.digest, "from": "genre/x", "to": "genre/y"}],
    "results": [{"do": do, "name": "row", "variant": "wide"} for do in ("adopt", "stop")],
    "placement": [{"do": "publish", "title": "Mine"}, {"do": "delete"}, {"back": "oldest"}],
    "proposals": [{"title": "Mine"}],
    "proposal": [{"do": "propose"}],
}
"""What editors' forms send, by page, that would change what steers a source."""
OWN_FIELDS = {"attributes", "lists", "settings", "placement", "versions"}
"""Pages whose forms are sent with what they hold."""


@pytest.mark.parametrize("enter", EDITORS[:2])
def test_where_nobody_publishes_alone_no_form_changes_what_steers_a_source(
    house: Service, enter: Callable[[Service], Visitor]
) -> None:
    variants = [{"name": "wide", "share": 0.5, "diversity": 0.5}]
    ok(house.put("/s/placements/row", json={"kind": "popular", "variants": variants}))
    ok(house.put("/s/settings", json={"fourEyes": True}))
    editor, before = enter(house), steered(house)
    versions = [str(each["version"]) for each in ok(house.get("/s/placements/row/versions"))["versions"]]

    # What is of people alone, or stores nothing, is no steering.
    assert set(STEERING) == set(FORMS) - {"user", "try"}
    for form, sent in STEERING.items():
        for named in sent:
            page = editor.get(form, source="s", version="0", **ASKED)
            fields = fields_of(page.text, f"{HOME}/{form}") if form in OWN_FIELDS else []
            seen = [("seen", versions[0])] if form == "results" else []
            given = {name: versions[-1] if text == "oldest" else text for name, text in named.items()}
            kept = [("proof", proof_of(editor)), *seen, *(each for each in fields if each[0] not in {*given, "proof"})]
            answer = editor.send(f"{HOME}/{form}?source=s&id=a&name=row", [*kept, *given.items()])
            assert answer.status_code in {200, 303}, (form, given, text_of(answer.text))
    assert steered(house) == before
    edited = [ok(house.get(f"/s/drafts/{each['name']}")) for each in ok(house.get("/s/drafts"))["drafts"]]
    told = [set(each) & {"blacklist", "whitelist", "settings", "placements"} for each in edited]
    assert {"settings", "placements", "blacklist", "whitelist"} == set().union(*told)


def hide(visitor: Visitor, piece_id: str, *, proof: str | None = None, source: str = "s") -> Any:
    fields = [("proof", proof_of(visitor) if proof is None else proof), ("do", "hide")]
    return visitor.send(f"{HOME}/piece?source={source}&id={piece_id}", fields)


def test_a_viewers_pages_offer_no_change_of_a_piece(house: Service) -> None:
    editor, viewer = Person(house, "newsroom"), Person(house, "readers")

    for page in ("piece", "user", "front"):
        assert 'name="do" value="hide"' in editor.get(page, source="s", **ASKED).text, page
        assert 'name="do" value="hide"' not in viewer.get(page, source="s", **ASKED).text, page
    assert "nothing can be changed" in text_of(viewer.get("desk", source="s").text)


def test_keys_that_may_not_look_and_those_of_pages_do_not_sign_in(house: Service) -> None:
    scopes, of_page = "scopes read and personal", (Scope.READ, Scope.PERSONAL, Scope.INTERACT)

    for said, limits in (
        (scopes, {"scopes": (Scope.READ,)}),
        (scopes, {"scopes": (Scope.WRITE,)}),
        (scopes, {"scopes": (Scope.INTERACT, Scope.READ)}),
        ("browser key", {"scopes": of_page, "origins": ("https://shop.example",)}),
    ):
        answer = Visitor(house).sign_in(house.new_key(**limits))
        assert (answer.status_code, said in answer.text) == (401, True), limits


def test_a_key_that_may_not_interact_changes_nothing_of_people(house: Service) -> None:
    visitor = key_of(Scope.READ, Scope.PERSONAL, Scope.WRITE)(house)

    refused = visitor.send(f"{HOME}/user?source=s&id=kim", [("proof", proof_of(visitor)), ("do", "off")])

    assert refused.status_code == 403
    assert hide(visitor, "b").status_code == 303


def test_the_audit_names_people_and_no_key_is_called_so(house: Service) -> None:
    assert hide(Person(house, "newsroom", name="Kim Ôtani"), "a").status_code == 303
    assert hide(Visitor(house, house.key), "b").status_code == 303

    with house.opened_storage() as storage:
        newest = [entry.actor for entry in storage.accounts.list_audit(limit=2)]
    assert newest == [house.key.split("_")[1], "person:kim ôtani"]
    assert "kim ôtani hid" in " ".join(text_of(Person(house, "newsroom").get("desk", source="s").text).split())


@dataclass
class Elsewhere:
    """The service, asked from an address that is no proxy's."""

    client: PromptClient


def elsewhere(service: Service) -> Elsewhere:
    assert isinstance(service.client, PromptClient)
    return Elsewhere(service.client.of_peer("203.0.113.9"))


def test_a_client_that_names_itself_is_not_believed(house: Service) -> None:
    stranger = Person(elsewhere(house), "newsroom")  # type: ignore[arg-type]

    assert stranger.get().headers["location"].startswith(f"{HOME}/sign-in")
    stranger.named["x-forwarded-for"] = "127.0.0.1"
    assert stranger.get().headers["location"].startswith(f"{HOME}/sign-in")
    assert stranger.sign_in(house.new_key(scopes=(Scope.READ, Scope.PERSONAL))).status_code == 303
    assert hide(stranger, "a", proof="0" * 32).status_code == 403
    assert 'class="viewer"' in stranger.get("desk", source="s").text


def test_where_the_proxy_names_nobody_keys_count(house: Service) -> None:
    for named in (
        {},
        {"remote-user": "", "remote-groups": "newsroom"},
        {"remote-user": "  ", "remote-groups": "newsroom"},
        {"remote-groups": "newsroom"},
        {"remote_user": "kim", "remote_groups": "newsroom"},
        {"remoteuser": "kim", "remote-groups": "newsroom"},
        {"x-remote-user": "kim", "remote-groups": "newsroom"},
    ):
        visitor = Person(house)
        visitor.named = named

        assert visitor.get().headers["location"].startswith(f"{HOME}/sign-in"), named
        assert visitor.sign_in(house.key).status_code == 303, named
        assert f"with the key <code>{house.key.split('_')[1]}" in visitor.get("sources").text, named


def test_a_name_that_is_not_clear_opens_nothing(house: Service) -> None:
    visitor = Person(house, "newsroom")
    for name, said in (
        ("x" * 201, "is none"),
        ("kim,eve", "is none"),
        ("kim\N{RIGHT-TO-LEFT OVERRIDE}mik".encode(), "is none"),
        ("kim\N{ZERO WIDTH SPACE}".encode(), "is none"),
        (b"k\xefm", "not UTF-8"),
        ("\N{COMBINING ACUTE ACCENT}".encode() * 201, "is none"),
    ):
        visitor.named["remote-user"] = name
        for page in ("", "desk", "sign-in"):
            answer = visitor.get(page, source="s")
            assert (answer.status_code, said in text_of(answer.text)) == (403, True), name


def test_a_header_that_comes_twice_opens_nothing(house: Service) -> None:
    for twice, value in itertools.product(("remote-user", "remote-groups"), ("", "kim", "newsroom")):
        named = [("remote-user", "kim"), ("remote-groups", "newsroom"), (twice.title(), value)]

        answer = house.client.get(f"{HOME}/desk?source=s", headers=named, follow_redirects=False)

        assert (answer.status_code, "more than once" in answer.text) == (403, True), (twice, value)


def test_groups_that_open_nothing_are_told(house: Service) -> None:
    for groups in ((), ("",), ("Newsroom",), ("news",), ("newsroom2", "xnewsroom")):
        answer = Person(house, *groups).get()

        assert (answer.status_code, "&#39;kim&#39;" in answer.text) == (403, True), groups


def test_a_person_is_one_however_the_name_is_written(house: Service) -> None:
    pages = [Person(house, "newsroom", name=name) for name in ("kim", "KIM", " Kim ")]
    pages[0].named["remote-user"] = "\N{FULLWIDTH LATIN SMALL LETTER K}im".encode()

    assert len({proof_of(each) for each in pages}) == 1
    assert proof_of(Person(house, "newsroom", name="kym")) != proof_of(pages[0])


def test_a_draft_is_published_by_another_person_where_four_eyes_are_asked_for(house: Service) -> None:
    ok(house.put("/s/settings", json={"fourEyes": True}))
    writer, other = Person(house, "newsroom"), Person(house, "newsroom", name="eve")
    fields = fields_of(writer.get("placement", source="s", name="row").text, f"{HOME}/placement")
    writer.send(f"{HOME}/placement?source=s&name=row", [*fields, ("do", "publish")])
    draft = ok(house.get("/s/drafts"))["drafts"][0]
    assert draft["by"] == "person:kim"

    statuses = [
        each.fill(each.get("proposal", source="s", name=draft["name"]), f"{HOME}/proposal", do="publish")
        for each in (writer, Person(house, "newsroom", name="Kim"), other)
    ]
    blind = other.send(f"{HOME}/proposal?source=s&name=row", [("proof", proof_of(other)), ("do", "publish")])

    assert [each.status_code for each in (*statuses, blind)] == [409, 409, 303, 409]
    assert "written anew since it was looked at" in text_of(blind.text)
    assert ok(house.get("/s/placements/row/versions"))["versions"][0]["keyId"] == "person:eve"


def test_groups_may_be_separated_by_bars_and_the_highest_role_of_an_account_counts(house: Service) -> None:
    visitor = Person(house)
    visitor.named["remote-groups"] = "readers| newsroom |other"

    assert hide(visitor, "a").status_code == 303


def test_rights_end_with_the_groups_at_the_next_click(house: Service) -> None:
    visitor = Person(house, "newsroom")
    proof = proof_of(visitor)

    visitor.named["remote-groups"] = "readers"
    assert hide(visitor, "a", proof=proof).status_code == 403
    visitor.named["remote-groups"] = ""
    assert visitor.get("desk", source="s").status_code == 403
    visitor.named["remote-groups"] = "newsroom"
    assert hide(visitor, "a", proof=proof).status_code == 303


def test_a_persons_form_is_good_for_the_day_that_follows_its_own(house: Service, clock: LaterClock) -> None:
    visitor = Person(house, "newsroom")
    proof = proof_of(visitor)

    clock.days = 1
    assert proof_of(visitor) != proof
    assert hide(visitor, "a", proof=proof).status_code == 303
    clock.days = 2
    refused = hide(visitor, "b", proof=proof)
    assert refused.status_code == 403
    assert "another session" in refused.text
    assert hide(visitor, "b").status_code == 303


def test_who_has_several_accounts_chooses_and_forms_stay_with_theirs(house: Service) -> None:
    visitor = Person(house, "newsroom", "film", "it")
    proof = proof_of(visitor)
    assert visitor.get("desk", source="theirs").status_code == 404
    film, _ = re.findall(r'name="account" value="(\w+)"', visitor.get("accounts").text)

    chosen = visitor.send(f"{HOME}/accounts", [("proof", proof), ("account", film)])

    assert (chosen.status_code, visitor.get("desk", source="theirs").status_code) == (303, 200)
    assert visitor.get("desk", source="s").status_code == 404
    # The form of the account before: in a second tab, perhaps, and with a source of the same name.
    assert hide(visitor, "a", proof=proof, source="theirs").status_code == 403
    visitor.named["remote-groups"] = "newsroom"
    assert visitor.get("desk", source="theirs").status_code == 404
    assert visitor.get("desk", source="s").status_code == 200


def test_no_account_can_be_chosen_that_no_group_opens(house: Service) -> None:
    visitor = Person(house, "newsroom")
    film = next(each.mark for each in grants_of({"film"}, house.settings))

    refused = visitor.send(f"{HOME}/accounts", [("proof", proof_of(visitor)), ("account", film)])
    visitor.cookies[ACCOUNT_COOKIE] = film

    assert (refused.status_code, visitor.get("desk", source="theirs").status_code) == (422, 404)


def test_the_session_of_a_key_beside_a_named_person_is_not_looked_at(house: Service) -> None:
    visitor = Person(house)
    visitor.named = {}
    assert visitor.sign_in(house.key).status_code == 303
    of_key = proof_of(visitor)

    visitor.named = {"remote-user": "kim", "remote-groups": "readers"}
    assert 'class="viewer"' in visitor.get("desk", source="s").text
    assert hide(visitor, "a", proof=of_key).status_code == 403
    visitor.named = {"remote-user": "kim", "remote-groups": "none"}
    assert visitor.get("desk", source="s").status_code == 403


def test_signing_out_ends_a_keys_session_too_and_leaves_the_person_to_the_proxy(house: Service) -> None:
    visitor = Person(house)
    visitor.named = {}
    visitor.sign_in(house.key)
    visitor.named = {"remote-user": "kim", "remote-groups": "newsroom"}

    assert visitor.send(f"{HOME}/sign-out", [("proof", proof_of(visitor))]).status_code == 303
    assert "Sign out where you signed in" in text_of("<main>" + visitor.get("desk", source="s").text)
    visitor.named = {}
    assert visitor.get().headers["location"].startswith(f"{HOME}/sign-in")


def test_no_other_site_sends_a_form_for_a_person(house: Service) -> None:
    visitor = Person(house, "newsroom")
    fields = [("proof", proof_of(visitor)), ("do", "hide")]

    for origin in ("https://evil.example", None):
        assert visitor.send(f"{HOME}/piece?source=s&id=a", fields, origin=origin).status_code == 403
    assert hide(visitor, "a", proof="").status_code == 403
    assert hide(visitor, "a", proof=proof_of(Person(house, "newsroom", name="eve"))).status_code == 403
    assert ok(house.get("/s/blacklist")) == []


def test_a_named_person_needs_no_key_and_the_key_begins_no_session(house: Service) -> None:
    visitor = Person(house)
    visitor.named = {}
    form = fields_of(visitor.get("sign-in").text, f"{HOME}/sign-in")
    visitor.named = {"remote-user": "kim", "remote-groups": "newsroom"}

    assert visitor.get("sign-in").headers["location"] == HOME
    sent = visitor.send(f"{HOME}/sign-in", [(name, house.key if name == "key" else value) for name, value in form])

    assert (sent.status_code, sent.headers["location"]) == (303, HOME)
    assert "set-cookie" not in sent.headers


def test_requests_of_a_person_count_against_the_plan_of_the_group(house: Service) -> None:
    visitors = [Person(house, "hurried", name=name) for name in ("kim", "eve")]

    assert [each.get("accounts").status_code for each in visitors] == [200, 200]
    wait_until(lambda: visitors[0].get("accounts").status_code == 429)


def test_no_page_has_buttons_for_what_its_key_may_not_do(filled: Service) -> None:
    ok(filled.put("/s/settings", json={"words": {"from": ["label"]}}))
    filled.post("/s/users/kim/interactions/Click/content/a")
    whole = filled.key
    writer = filled.new_key(account=filled.account, scopes=("read", "personal", "write"))
    viewer = filled.new_key(account=filled.account, scopes=("read", "personal"))
    plain = filled.new_key(account=filled.account, plan="basic")

    people = {key: Visitor(filled, key).get("user", source="s", id="kim").text for key in (whole, writer)}
    piece_page = Visitor(filled, viewer).get("piece", source="s", id="a")
    begun = {key: ">New row<" in Visitor(filled, key).get("placements", source="s").text for key in (whole, viewer)}
    links = Visitor(filled, plain).get("pieces", source="s").text

    assert ['value="erase"' in page for page in people.values()] == [True, False]
    assert piece_page.status_code == 200
    assert begun == {whole: True, viewer: False}
    assert [page for page in ("front", "placements", "lists") if f"{HOME}/{page}?" in links] == []
