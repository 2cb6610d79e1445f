"""Whom an operation is about: every one of the OpenAPI document, with every kind of key, for oneself and others.

`alice` and `bob` are people of the source whom nobody but its servers may learn of, `kim` and `lee` those whom a page
signs. What a page may not read of the catalogue is a piece that is not available yet, and a member of extras.
"""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from acceptance.processes import wait_until
from factories import piece
from penchant.model import BROWSER_SCOPES, Scope
from penchant.web.operations import EVERYBODY, IN_PATH, NOBODY, Operation, in_body
from penchant.web.routes import interface_operations
from penchant.wire import sign_user
from serving import Service

OPERATIONS = interface_operations()

SHOP = "https://shop.example"
OTHERS = ("alice@people.example", "bob@people.example")
SECRETS = ("embargoed-piece", "embargoed-keyword", "embargoed-extra", "what-it-cost")
ANY_RATE = 10_000
OWN = {"source": "s", "contentID": "a", "other": "b", "userID": "kim", "type": "Click", "name": "home"}
DRAFTS = {"sendBackDraft": "asked", "acceptDraft": "proposed", "undoDraft": "published"}
"""Operations of drafts that are in another state than that of the usual name."""
LAST = ("deleteDraft", "deletePlacement", "eraseUser", "deleteOneContent", "deleteContent", "deleteSource")
"""After all others: they remove what the others ask for."""


class Request(NamedTuple):
    """A request for an operation: for a person, and for a piece."""

    operation: Operation
    method: str
    path: str
    query: dict[str, str]
    body: Any


def bodies(user: str, piece_id: str) -> Mapping[str, Any]:
    """Return a body for each operation that has one, about a person and a piece."""
    interaction = {"userId": user, "type": "Click", "contentId": piece_id}
    page = {"user": user, "lists": [{"placement": "home"}, {"placement": "beside", "content": piece_id}]}
    return {
        "recordInteractions": [interaction],
        "recommendToEach": [user, "kim"],
        "rank": {"content": [piece_id, "b"]},
        "pageLists": page,
        "recordImpressions": [],
        "previewSettings": {"pieces": [piece_id], "users": [user]},
        "previewPlacement": {"name": "home", "placement": {"kind": "recommendations"}, "users": [user]},
        "similarToEach": [piece_id, "a"],
        "previewRecommendation": {"liked": [piece_id, "a"], "disliked": []},
        "readContent": [piece_id, "a"],
        "previewWords": {"content": [{"id": piece_id, "categories": {}}]},
        "previewSimilar": {"id": piece_id, "categories": {"genre": ["x", "embargoed"]}},
        "submitContent": [],
        "putWhitelist": [],
        "putBlacklist": [],
        **{f"{do}{kind}Entries": [piece_id] for do in ("add", "remove") for kind in ("Whitelist", "Blacklist")},
        "putSettings": {},
        "putPreferences": {},
        "putPlacement": {"kind": "popular"},
        "putDraft": {"title": "embargoed-keyword"},
        "proposeDraft": {},
        "draftEffect": {"users": [user], "pieces": [piece_id]},
        "sendBackDraft": {},
        "acceptDraft": {},
        "scheduleDraft": {"at": "2999-01-01T00:00:00Z"},
    }


def requests(service: Service, user: str = "kim", piece_id: str = "a") -> Iterator[Request]:
    """Yield a request for every operation of the OpenAPI document that is about a source."""
    paths = service.get("/-/openapi.json").json()["paths"]
    by_name = {operation.name: operation for operation in OPERATIONS}
    found = [
        by_name[described["operationId"]]
        for methods in paths.values()
        for described in methods.values()
        if described["security"]
        and by_name[described["operationId"]].scope is not None
        and by_name[described["operationId"]].has_source
    ]
    assert {each.name for each in found} == {
        each.name for each in OPERATIONS if each.scope is not None and each.has_source
    }
    values = OWN | {"userID": user, "contentID": piece_id}
    version = service.get("/s/placements/home/versions").json()["versions"][0]["version"]
    for operation in sorted(found, key=lambda each: LAST.index(each.name) if each.name in LAST else -1):
        query = {
            "placementList": {"user": user},
            "rollBackPlacement": {"version": str(version)},
            "deleteSource": {"confirm": "s"},
            "listSegments": {"category": "genre"},
            "search": {"q": user, "kind": "person"},
        }
        yield Request(
            operation,
            operation.method,
            operation.path.format_map(values | {"name": DRAFTS.get(operation.name, OWN["name"])}),
            query.get(operation.name, {}) | ({"explain": "true"} if "explain" in names_of(operation) else {}),
            bodies(user, piece_id).get(operation.name),
        )


def names_of(operation: Operation) -> set[str]:
    return {parameter.name for parameter in operation.parameters}


def ask(service: Service, request: Request, key: str, headers: Mapping[str, str], **more: str) -> Any:
    body = {} if request.body is None else {"json": request.body}
    return service.request(
        request.method, request.path, key=key, headers=dict(headers), params=request.query | more, **body
    )


@pytest.fixture
def filled(service: Service) -> Service:
    """A source with people, a placement of each sort, and a piece and extras that are not for pages."""
    extras = {"url": "/a", "cost": "what-it-cost"}
    service.submit(
        "s",
        piece("a", "x", "y", extras=extras),
        piece("b", "x", "z"),
        piece("c", "y", "z"),
        {
            "id": "embargoed-piece",
            "categories": {"genre": ["x", "y", "embargoed-keyword"]},
            "filters": {"availableFrom": "2999-01-01T00:00:00Z"},
            "extras": {"title": "embargoed-extra"},
        },
    )
    attributes = {"cost": {"pointer": "/cost", "type": "keyword"}, "url": {"pointer": "/url", "type": "keyword"}}
    settings = {"publicExtras": ["url"], "publicCards": True, "attributes": attributes}
    assert service.put("/s/settings", json=settings).status_code == 200
    assert service.put("/s/placements/home", json={"kind": "recommendations"}).status_code == 200
    assert service.put("/s/placements/beside", json={"kind": "similar"}).status_code == 200
    for name in (OWN["name"], *DRAFTS.values()):
        assert service.put(f"/s/drafts/{name}", json={"title": "embargoed-keyword"}).status_code == 200
    for name, step in (("asked", "propose"), ("proposed", "propose"), ("published", "publish")):
        assert service.post(f"/s/drafts/{name}/{step}", json={}).status_code == 200
    clicks = [
        {"userId": user, "type": "Click", "contentId": each} for user in (*OTHERS, "kim", "lee") for each in ("a", "b")
    ]
    assert service.post("/s/interactions", json=clicks).status_code == 200
    return service


class Page:
    """A page that has a browser key, in which a person may be signed."""

    def __init__(self, service: Service, **limits: Any) -> None:
        self.service = service
        self.secret = service.new_secret()
        usual: dict[str, Any] = {"origins": [SHOP], "requests_per_second": ANY_RATE}
        self.key = service.new_key(**(usual | limits))

    def headers(self, signed: str | None = None, *, life_s: int = 3_600) -> dict[str, str]:
        if signed is None:
            return {"origin": SHOP}
        return {"origin": SHOP, "x-penchant-user": sign_user(signed, self.secret, int(time.time()) + life_s)}


def told_of(answer: Any, texts: tuple[str, ...]) -> list[str]:
    return [text for text in texts if text in answer.text or text in str(answer.headers)]


@pytest.mark.slow
@pytest.mark.parametrize("signed", (None, "kim", "lee"))
@pytest.mark.parametrize("user", ("kim", OTHERS[0]))
def test_a_page_learns_of_nobody_but_the_signed_person(filled: Service, signed: str | None, user: str) -> None:
    page = Page(filled)

    for request in requests(filled, user):
        operation = request.operation
        answer = ask(filled, request, page.key, page.headers(signed))
        # What a refusal repeats is what was asked.
        assert told_of(answer, tuple(each for each in OTHERS if each != user)) == [], operation.name
        if not operation.in_browsers:
            # Of drafts a page hears nothing, of other writes that it has not their scope.
            is_write = operation.about is NOBODY and operation.scope is Scope.WRITE and "/drafts" not in operation.path
            expected = "outside-scope" if is_write else "not-in-browsers"
            assert (answer.status_code, answer.json()["code"]) == (403, expected), operation.name
            continue
        names = operation.about is IN_PATH or operation.name in {"placementList", "pageLists", "recordInteractions"}
        is_own = not names or signed == user
        assert (answer.status_code < 300) is is_own, (operation.name, answer.text)
        if not is_own:
            assert (answer.status_code, answer.json()["code"]) == (401, "not-signed"), operation.name


@pytest.mark.slow
@pytest.mark.parametrize("scope", (*Scope, None))
def test_a_key_of_a_server_needs_personal_to_learn_of_people(filled: Service, scope: Scope | None) -> None:
    key = filled.new_key(scopes=[] if scope is None else [scope])
    may_learn = {Scope.PERSONAL, None}
    # Of one person all is exported and erased by the scope that says so.
    by_write = {"exportUser", "eraseUser"}
    # Lists for a person need it beside the scope of the operation.
    for_people = {"placementList", "pageLists", "previewPlacement", "previewSettings", "draftEffect", "search"}

    for request in requests(filled, OTHERS[0]):
        name = request.operation.name
        answer = ask(filled, request, key, {})
        if scope not in may_learn and request.operation.scope is not Scope.INTERACT and name not in by_write:
            assert told_of(answer, OTHERS) == [] or answer.status_code == 404, (name, answer.text)
        if scope is None or (request.operation.scope is scope and name not in for_people):
            assert answer.status_code < 300, (name, answer.text)
        else:
            assert (answer.status_code, answer.json()["code"]) == (403, "outside-scope"), name


@pytest.mark.slow
def test_strangers_learn_of_nobody(filled: Service) -> None:
    foreign, admin = filled.new_key(account="other"), filled.new_key(account="operators", admin=True)
    of_others = Page(filled, account="other")

    every = [each for each in requests(filled, OTHERS[0], "embargoed-piece") if not each.operation.creates_source]
    for request in every:
        for key, headers in ((foreign, {}), (admin, {}), (of_others.key, of_others.headers(OTHERS[0])), ("pk_a_b", {})):
            answer = ask(filled, request, key, headers)
            name = request.operation.name
            assert answer.status_code in {401, 403, 404}, (name, answer.text)
            assert told_of(answer, (OTHERS[1], *SECRETS[1:])) == [], name


@pytest.mark.slow
@pytest.mark.parametrize("piece_id", ("a", "embargoed-piece"))
def test_a_page_reads_only_what_may_be_shown_now(filled: Service, piece_id: str) -> None:
    page = Page(filled)
    known = filled.get("/s/content/embargoed-piece")
    assert (known.status_code, told_of(known, SECRETS)) == (200, list(SECRETS[:3]))

    for request in requests(filled, "kim", piece_id):
        answer = ask(filled, request, page.key, page.headers("kim"))
        # An answer may repeat the id that was asked for, as it does any.
        hidden = SECRETS if piece_id == "a" else SECRETS[1:]
        assert told_of(answer, hidden) == [], (request.operation.name, answer.text)
        if "at" in names_of(request.operation) and request.operation.in_browsers:
            later = ask(filled, request, page.key, page.headers("kim"), at="2999-06-01")
            assert (later.status_code, later.json()["code"]) == (403, "not-in-browsers"), request.operation.name


PIECES_IN_PATHS = [each for each in OPERATIONS if each.in_browsers and "{contentID}" in each.path]


@pytest.mark.parametrize("operation", PIECES_IN_PATHS, ids=lambda operation: operation.name)
def test_to_a_page_a_hidden_piece_is_as_unknown_as_any(filled: Service, operation: Operation) -> None:
    page = Page(filled)

    def answered(piece_id: str) -> tuple[int, str]:
        path = operation.path.format_map(OWN | {"contentID": piece_id})
        answer = filled.request(operation.method, path, key=page.key, headers=page.headers("kim"))
        return answer.status_code, answer.text.replace(piece_id, "…")

    hidden, unknown = answered("embargoed-piece"), answered("nobody-ever-had")
    if operation.scope is not Scope.INTERACT:
        assert hidden == unknown
    assert hidden[0] == unknown[0]


def test_bodies_name_hidden_pieces_as_unknown_ones(filled: Service) -> None:
    page = Page(filled)

    def post(path: str, body: Any) -> str:
        return str(filled.post(path, key=page.key, headers=page.headers("kim"), json=body).text)

    for path, body in (
        ("/s/similar", ["embargoed-piece", "a"]),
        ("/s/preview/recommendation?explain=true", {"liked": ["embargoed-piece", "a"]}),
        ("/s/lists", {"lists": [{"placement": "beside", "content": "embargoed-piece"}]}),
    ):
        other = json.loads(json.dumps(body).replace("embargoed-piece", "nobody-ever-had"))
        assert post(path, body).replace("embargoed-piece", "nobody-ever-had") == post(path, other)


def test_reasons_name_no_hidden_piece_to_a_page(filled: Service) -> None:
    page = Page(filled)
    both = [
        {"userId": user, "type": "RateLike", "contentId": each}
        for user in (*OTHERS, "kim", "lee")
        for each in ("embargoed-piece", "a")
    ]
    recorded = filled.post("/s/interactions", json=both)
    made = {"x-penchant-min-audience-version": recorded.headers["x-penchant-interactions-version"]}
    # By the last nobody has named it: it is a stand-in.
    for method, path in (
        ("GET", "/s/users/kim/recommendation?explain=true&include=label&include-seen=true"),
        ("GET", "/s/users/kim/why/b"),
        ("POST", "/s/preview/recommendation?explain=true"),
    ):
        body = {"liked": ["a"]} if method == "POST" else None
        server = filled.request(method, path, headers=made, json=body)
        answer = filled.request(method, path, key=page.key, headers=page.headers("kim") | made, json=body)

        assert (server.status_code, answer.status_code) == (200, 200)
        assert "embargoed-piece" in server.text, path
        assert "embargoed-piece" not in answer.text, path


def test_a_page_filters_by_public_extras_alone(filled: Service) -> None:
    page = Page(filled)

    def status(attribute: str, value: str) -> int:
        chosen = json.dumps({"key": attribute, "any": [value]})
        return int(
            filled.get("/s/popular", key=page.key, headers=page.headers(), params={"filter": chosen}).status_code
        )

    assert (status("url", "/a"), status("cost", "what-it-cost")) == (200, 422)
    cost = json.dumps({"key": "cost", "any": ["what-it-cost"]})
    assert filled.get("/s/popular", params={"filter": cost}).status_code == 200


@pytest.mark.parametrize(
    ("given", "shown"),
    (
        ({}, {}),
        ({"imageAttribute": "/image/0"}, {"image": ["/a.png"]}),
        ({"imageAttribute": "/image/0", "publicExtras": ["cost"]}, {"cost": 1.50}),
        ({"publicExtras": []}, {}),
        ({"publicExtras": True}, {"image": ["/a.png"], "cost": 1.50, "n": 12345678901234567890123}),
    ),
)
def test_public_extras_are_what_the_source_says(service: Service, given: Any, shown: Any) -> None:
    extras = {"image": ["/a.png"], "cost": 1.50, "n": 12345678901234567890123}
    service.submit("s", piece("a", "x", extras=extras), piece("b", "x"))
    assert service.put("/s/settings", json=given).status_code == 200
    page = Page(service)

    answer = service.get("/s/content/a", key=page.key, headers=page.headers())

    assert answer.json() == {**service.get("/s/content/a").json(), "extras": shown}


@pytest.mark.parametrize(("life_s", "status"), ((86_390, 200), (86_500, 401), (10**9, 401), (-1, 401)))
def test_nobody_is_signed_for_more_than_a_day(filled: Service, life_s: int, status: int) -> None:
    page = Page(filled)

    answer = filled.get("/s/users/kim/recommendation", key=page.key, headers=page.headers("kim", life_s=life_s))

    assert answer.status_code == status
    if status == 401:
        assert answer.json()["code"] == "not-signed"
        assert answer.json()["title"] == "This person is not signed"


def test_a_page_neither_learns_from_event_ids_of_others_nor_takes_them(filled: Service) -> None:
    page = Page(filled)
    alice = f"/s/users/{OTHERS[0]}/interactions"
    assert filled.post(f"{alice}/Purchase/content/a?event-id=order-1001").status_code == 200

    def post(path: str, **body: Any) -> Any:
        answer = filled.post(path, key=page.key, headers=page.headers("kim"), **body)
        assert answer.status_code == 200
        return answer

    asked = post("/s/users/kim/interactions/Click/content/b?event-id=order-1001")
    planted = [{"userId": "kim", "type": "Click", "contentId": "c", "eventId": f"order-{n}"} for n in (1001, 1002)]
    taken = post("/s/interactions", json=planted)
    bought = filled.post(f"{alice}/Purchase/content/b?event-id=order-1002").json()

    assert told_of(asked, OTHERS) == []
    assert (asked.json()["key"]["userId"], asked.json()["type"], asked.json()["contentId"]) == ("kim", "Click", "b")
    assert taken.json() == {"accepted": 1, "duplicates": 1}
    assert (bought["key"]["userId"], bought["type"], bought["contentId"]) == (OTHERS[0], "Purchase", "b")
    assert len(filled.get(f"{alice}?type=Purchase").json()) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_pages_use_up_no_answers_of_servers(filled: Service) -> None:
    page = Page(filled, requests_per_month=5)
    before = usage_of(filled)

    statuses = [filled.get("/s/content/a/similar", key=page.key, headers=page.headers()).status_code for _ in range(4)]
    several = filled.post("/s/similar", key=page.key, headers=page.headers(), json=["a", "b"])

    assert statuses == [200] * 4
    assert (several.status_code, several.json()["code"]) == (429, "quota-exceeded")
    assert filled.get("/s/content/a/similar", key=page.key, headers=page.headers()).status_code == 200
    refused = filled.get("/s/content/a/similar", key=page.key, headers=page.headers())
    assert (refused.status_code, refused.json()["code"]) == (429, "quota-exceeded")
    assert filled.get("/s/content/a/similar").status_code == 200
    wait_until(lambda: usage_of(filled) == (before[0] + 1, 5))


def usage_of(service: Service) -> tuple[int, int]:
    """Return the answers of the account: those to its servers and those in browsers."""
    admin = service.new_key(account="operators", admin=True)
    for each in service.get("/-/admin/usage", key=admin).json()["accounts"]:
        if each["account"] == service.name_of("default"):
            return each["answers"], each["browserAnswers"]
    return 0, 0


@pytest.mark.slow
def test_an_address_has_a_rate_of_its_own(filled: Service) -> None:
    page = Page(filled, requests_per_second=3)

    answers = [filled.get("/s/content/a", key=page.key, headers=page.headers()) for _ in range(40)]

    refused = [each for each in answers if each.status_code == 429]
    assert refused
    assert {each.json()["code"] for each in refused} == {"rate-exceeded"}
    assert refused[0].headers["ratelimit-policy"] == '"address";q=3;w=1'
    assert filled.get("/s/content/a").status_code == 200


@pytest.mark.usefixtures("alone")
def test_misused_keys_are_told_and_show_as_a_metric(filled: Service) -> None:
    page = Page(filled)
    key_id = page.key.split("_")[1]

    filled.get("/s/users/kim/recommendation", key=page.key, headers=page.headers())
    filled.get("/s/ids", key=page.key, headers=page.headers())
    foreign = filled.get("/s/content/a", key=page.key, headers={"origin": "https://thief.example"})

    assert foreign.status_code == 403
    assert "https://thief.example" in foreign.json()["detail"]
    assert key_id in foreign.json()["detail"]
    metrics = filled.client.get("/-/metrics").text
    for code in ("not-signed", "not-in-browsers", "origin-not-allowed"):
        assert f'penchant_browser_key_refusals_total{{code="{code}",key_id="{key_id}"}} 1.0' in metrics


def operation(**more: Any) -> Operation:
    settled: dict[str, Any] = {"method": "GET", "path": "/{source}/x", "scope": Scope.READ, "about": NOBODY}
    return Operation(**(settled | more))


@pytest.mark.parametrize(
    "more",
    (
        {"scope": None},
        {"public": True},
        {"about": IN_PATH},
        {"path": "/{source}/users/{userID}/x"},
        {"about": EVERYBODY, "in_browsers": True},
        {"scope": Scope.WRITE, "in_browsers": True},
        {"about": in_body(lambda body: [body])},
        {"answers": len},
    ),
)
def test_contradictory_operations_cannot_be_made(more: dict[str, Any]) -> None:
    assert operation().about is NOBODY

    with pytest.raises(TypeError, match="the operation GET"):
        operation(**more)


def test_an_operation_must_say_whom_it_is_about() -> None:
    with pytest.raises(TypeError, match="about"):
        Operation("GET", "/{source}/x", scope=Scope.READ)  # type: ignore[call-arg]  # that is what is tried


def test_the_document_says_whom_operations_are_about(service: Service) -> None:
    for methods in service.get("/-/openapi.json").json()["paths"].values():
        for described in methods.values():
            about, in_browsers = described.get("x-penchant-about"), described.get("x-penchant-in-browsers")
            assert (about is None) == (in_browsers is None)
            assert not in_browsers or about in {"nobody", "person"}, described["operationId"]


def test_browsers_have_no_scope_that_writes() -> None:
    assert {each.scope for each in OPERATIONS if each.in_browsers} <= BROWSER_SCOPES


NOT_HELD = {
    "what a piece is steers nothing": {"submitContent", "deleteOneContent", "deleteContent"},
    "a person asks for it": {"eraseUser"},
    "nothing is stored": {"previewWords", "previewPlacement", "previewSettings", "draftEffect"},
    "nothing is in force by it": {"putDraft", "deleteDraft", "proposeDraft", "sendBackDraft"},
}
"""Operations of editors that one alone may do where two are asked for, and why; what only reads is none of them."""


@pytest.mark.slow
def test_where_nobody_publishes_alone_no_operation_of_editors_changes_what_steers_a_source(filled: Service) -> None:
    service, steering = filled, ("settings", "whitelist", "blacklist", "placements")
    editor = service.new_key(scopes=[Scope.READ, Scope.PERSONAL, Scope.WRITE])
    for name in (OWN["name"], *DRAFTS.values()):
        service.delete(f"/s/drafts/{name}")
        edits = {"blacklist": [name], "settings": {"halfLifeDays": 7}}
        assert service.put(f"/s/drafts/{name}", key=editor, json=edits).status_code == 200
    for name, step in (("asked", "propose"), ("proposed", "propose"), ("published", "publish")):
        assert service.post(f"/s/drafts/{name}/{step}", json={}).status_code == 200
    service.put("/s/settings", json=service.get("/s/settings").json() | {"fourEyes": True})
    before = [service.get(f"/s/{each}").json() for each in steering]

    asked = [each for each in requests(service) if each.operation.scope is Scope.WRITE and each.method != "GET"]
    held = set()
    for each in asked:
        name = each.operation.name
        draft = service.get(f"/s/drafts/{DRAFTS.get(name, OWN['name'])}").json()
        seen = {"revision": draft["revision"]} if "revision" in names_of(each.operation) else {}
        answer = ask(service, each, editor, {}, **seen)
        if answer.status_code == 403 and answer.json()["code"] == "four-eyes":
            held.add(name)
        else:
            assert answer.status_code < 300, (name, answer.text)

    assert [service.get(f"/s/{each}").json() for each in steering] == before
    # A new operation is held, or stands above with its reason.
    assert {each.operation.name for each in asked} - held == set().union(*NOT_HELD.values())
    assert service.put("/s/settings", json=before[0], headers={"x-api-key": editor}).status_code == 200
