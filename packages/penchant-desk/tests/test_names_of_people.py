"""Names of people on pages: whoever has a key is called by its name, wherever a page says who did something."""

import pytest

from serving import Service, ok
from visitors import HOME, Visitor, text_of, words


@pytest.fixture
def ida(filled: Service) -> str:
    """The key of Ida Berg, who changed something of everything."""
    admin = filled.new_key(account="operators", admin=True)
    made = filled.post("/-/admin/keys", json={"account": filled.account, "name": "Ida Berg"}, key=admin)
    key: str = made.json()["key"]
    for title in ("New", "Newer"):
        ok(filled.put("/s/placements/row", json={"kind": "new", "title": title}, key=key))
    ok(filled.put("/s/blacklist", json=["c"], key=key))
    filled.put("/s/blacklist/content/b", key=key)
    ok(filled.put("/s/drafts/spring", json={"title": "Spring", "blacklist": []}, key=key))
    return key


@pytest.mark.usefixtures("ida")
def test_pages_call_people_by_the_names_of_their_keys(visitor: Visitor) -> None:
    desk = words(visitor.get("desk", source="s"), "changes")
    rows = text_of(visitor.get("placements", source="s").text)
    row = words(visitor.get("row-versions", source="s", name="row"), "versions")
    waiting = text_of(visitor.get("proposals", source="s").text)
    proposal = text_of(visitor.get("proposal", source="s", name="spring").text)
    piece = text_of(visitor.get("piece", source="s", id="b").text)

    assert "Ida Berg saved the draft Spring" in desk
    assert "Ida Berg hid Second everywhere" in desk
    assert "by Ida Berg" in rows
    assert "Ida Berg : Title" in row
    assert "Ida Berg wrote it" in " ".join(waiting.split())
    assert "Ida Berg since" in proposal
    assert "UTC by Ida Berg" in piece
    assert not [page for page in (desk, rows, row, waiting, proposal, piece) if "Key " in page]


def test_whoever_looks_on_is_you_and_keys_without_a_name_are_ids(filled: Service, ida: str) -> None:
    ok(filled.put("/s/whitelist", json=["a"], key=ida))
    ok(filled.put("/s/whitelist", json=[]))

    changes = words(Visitor(filled, ida).get("desk", source="s"), "changes")

    assert f"Key {filled.key.split('_')[1]} changed the list of boosted pieces" in changes
    assert "You changed the list of boosted pieces" in changes


def test_the_header_and_versions_say_who_looks_on(filled: Service, ida: str) -> None:
    ok(filled.put("/s/whitelist", json=["a"], key=ida))

    page = Visitor(filled, ida).get("versions", source="s", of="whitelist").text

    assert "<summary><bdi>Ida Berg</bdi></summary>" in page
    assert "<b><bdi>You</bdi></b>" in page
    assert filled.get("/-/key", key=ida).json()["name"] == "Ida Berg"
    assert "name" not in filled.get("/-/key").json()


def test_keys_are_made_for_somebody_and_the_log_names_them(filled: Service) -> None:
    admin = Visitor(filled, filled.new_key(account="operators", admin=True))

    made = admin.fill(admin.get("keys"), f"{HOME}/keys", account=filled.account, name=" Otto Kim ")
    ok(filled.put("/s/whitelist", json=[], key=made.text.partition('class="key">')[2].partition("<")[0]))

    assert "for Otto Kim of" in text_of(made.text)
    assert "Otto Kim" in words(admin.get("keys", account=filled.account), "keys")
    assert "Otto Kim changed the list" in " ".join(text_of(admin.get("audit", account=filled.account).text).split())


def test_the_desk_opens_on_the_only_source(visitor: Visitor, filled: Service) -> None:
    opened = visitor.get()

    assert opened.headers["location"] == f"{HOME}/desk?source=s"
    assert f'href="{HOME}/sources"' in visitor.ask("GET", opened.headers["location"]).text
    assert "interactions in 30 days" in text_of(visitor.get("sources").text)
    filled.submit("another")
    assert visitor.get().status_code == 200
