"""The documents and the API reference, as they are served below ``/-/docs``."""

import re
import subprocess
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from penchant.bootstrap import web_application
from penchant.settings import NodeSettings
from penchant.web.openapi import error_codes
from penchant.web.problems import KINDS
from penchant.web.routes import interface_operations
from penchant.web.site.library import Library
from penchant.web.site.reference import ADDRESS, curl
from penchant.web.site.rendering import rendered
from penchant.web.site.serving import DocumentSite, SearchEntry, search, words_of
from serving import Applications, Service

OPERATIONS = interface_operations()

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MAX_PAGE_BYTES = 100_000


class Links(HTMLParser):
    """Collects a page's addresses, anchors, and whatever it loads or runs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.anchors: list[str] = []
        self.loaded: list[str] = []
        self.tags: set[str] = set()
        self.inline: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.anchors.append(value or "")
            elif name == "style" or name.startswith("on"):
                self.inline.append(f"{tag} {name}")
            elif name in {"src", "action"} or (tag, name) == ("link", "href"):
                self.loaded.append(value or "")
            elif name == "href":
                self.addresses.append(value or "")


def pages(service: Service, start: str = "/-/docs") -> dict[str, Links]:
    """Return every page that the start leads to, by address."""
    found: dict[str, Links] = {}
    waiting = [start]
    while waiting:
        address = waiting.pop()
        if address in found:
            continue
        answer = service.client.get(address)
        assert answer.status_code == 200, address
        found[address] = Links(answer.text)
        waiting += [each.partition("#")[0] for each in found[address].addresses if "/-/docs" in each]
    return found


@pytest.fixture(scope="module")
def site(applications: Applications, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Links]:
    with applications.service(NodeSettings(data=str(tmp_path_factory.mktemp("site")))) as service:
        return pages(service)


def test_every_document_is_a_page_that_the_start_leads_to(site: dict[str, Links]) -> None:
    documents = [path.stem for path in (ROOT / "docs").rglob("*.md")]

    assert len(documents) > 10
    assert {f"/-/docs/{name}" for name in (*documents, "changelog", "architecture", "api")} < set(site)


def test_pictures_that_documents_show_are_served_and_all_are_shown(site: dict[str, Links], service: Service) -> None:
    shown = {each for page in site.values() for each in page.loaded if each.endswith(".webp")}
    readme = re.findall(r"!\[.+\]\(docs/pictures/(.+?)\)", (ROOT / "README.md").read_text())

    answers = {address: service.client.get(address) for address in shown}

    assert {each.headers["content-type"] for each in answers.values()} == {"image/webp"}
    assert all(each.content[8:12] == b"WEBP" for each in answers.values())
    assert {Path(each).name for each in shown} == set(Library().pictures) >= set(readme) > set()


def test_no_link_and_no_anchor_is_broken(site: dict[str, Links], service: Service) -> None:
    served = {"/-/openapi.json", *(f"/-/problems/{code}" for code in KINDS)}
    for address, page in site.items():
        assert len(set(page.anchors)) == len(page.anchors), address
        for link in page.addresses:
            target, _, anchor = link.partition("#")
            if link.startswith("https://"):
                continue
            assert target in {"", *site, *served}, f"{address}: {link}"
            assert not anchor or anchor in site[target or address].anchors, f"{address}: {link}"
    assert all(service.client.get(address).status_code == 200 for address in served)


def test_no_link_of_a_document_leads_nowhere() -> None:
    library = Library()
    for document in library.documents.values():
        broken = rendered(document.text, lambda path: library.slug_of(path, seen_from=document.path)).broken  # noqa: B023
        assert broken == [], document.path


def test_nothing_is_loaded_from_elsewhere_and_nothing_runs(site: dict[str, Links], service: Service) -> None:
    for address, page in site.items():
        assert all(loaded.startswith("/-/docs/") for loaded in page.loaded), address
        assert not page.tags & {"script", "style", "iframe", "object"}, address
        assert not page.inline, address
        policy = service.client.get(address).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    assert not re.search(r"url\(|@import", service.client.get("/-/docs/style.css").text)


def test_no_page_weighs_more_than_100_kb(site: dict[str, Links], service: Service) -> None:
    style = len(service.client.get("/-/docs/style.css").content) + len(service.client.get("/-/docs/icon.svg").content)
    for address in (*site, "/-/docs/search?q=the"):
        weight = len(service.client.get(address).content) + style

        assert 1_500 + style < weight <= MAX_PAGE_BYTES, address


def test_every_document_is_there_as_markdown_and_leads_on(service: Service) -> None:
    guide = service.client.get("/llms.txt")
    listed = set(re.findall(r"\((/-/docs/[^)]*)\)", guide.text))
    pages = {address: service.client.get(address) for address in listed}

    assert guide.headers["content-type"] == "text/markdown; charset=utf-8"
    assert listed == {f"/-/docs/{each.slug}.md" for each in Library().documents.values() if each.kind}
    for address, page in pages.items():
        assert (page.status_code, page.headers["content-type"]) == (200, guide.headers["content-type"]), address
        assert page.text.startswith("# "), address
        for target in re.findall(r"\]\((/-/docs/[^)#]*)", page.text):
            assert target in listed or service.client.get(target).status_code == 200, f"{address}: {target}"
    assert "](/-/docs/keys.md#browser-keys)" in pages["/-/docs/agents.md"].text
    assert service.client.get("/-/docs/nothing.md").status_code == 404


def test_a_source_may_be_called_as_the_list_for_models_is(service: Service) -> None:
    service.submit("llms.txt")

    assert service.get("/llms.txt").json()["source"] == "llms.txt"
    assert service.delete("/llms.txt?confirm=llms.txt").status_code == 202


def test_a_page_is_asked_for_again_without_being_sent_again(service: Service) -> None:
    first = service.client.get("/-/docs/interface")
    again = service.client.get("/-/docs/interface", headers={"if-none-match": first.headers["etag"]})

    assert first.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")
    assert service.client.get("/-/docs/settings").headers["etag"] != first.headers["etag"]
    assert service.client.head("/-/docs/interface").status_code == 200


def test_the_style_sheet_is_kept_for_ever_under_the_address_that_pages_name(service: Service) -> None:
    named = re.search(r'href="(/-/docs/style.css\?v=\w+)"', service.client.get("/-/docs").text)

    assert named is not None
    assert "immutable" in service.client.get(named.group(1)).headers["cache-control"]
    assert service.client.get("/-/docs/style.css?v=old").headers["cache-control"] == "no-cache"


def test_an_unknown_page_is_404_and_no_path_leads_out(service: Service) -> None:
    for name in ("nothing", "..%2F..%2Fpyproject.toml", "templates", "base.html", "%3Cscript%3E"):
        answer = service.client.get(f"/-/docs/{name}")

        assert (answer.status_code, answer.json()["code"]) == (404, "unknown-route")


def test_links_stay_below_the_base_path(tmp_path: Path) -> None:
    settings = NodeSettings(data=str(tmp_path / "data"), base_path="/under/here")
    with TestClient(web_application(settings)) as client:
        for name in ("", "/scoring", "/api-content", "/search?q=score"):
            page = Links(client.get(f"/under/here/-/docs{name}").text)

            links = [each for each in (*page.addresses, *page.loaded) if not each.startswith(("#", "https://"))]
            assert links
            assert all(each.startswith("/under/here/-/") for each in links), name


# Rendering


def html_of(text: str) -> str:
    return rendered(text, lambda path: f"/-/docs/{path}" if path != "gone.md" else None).html


def test_html_in_a_document_is_text() -> None:
    page = html_of("# A\n\n<script>alert(1)</script> and <b onclick='x'>bold</b>\n\n[x](javascript:alert(1))")

    assert "&lt;script&gt;" in page
    assert Links(page).tags == {"h1", "p"}


def test_headings_have_the_anchors_that_code_hosts_give_them() -> None:
    page = rendered("# T\n\n## GET /{source}/ids\n\n## Twice\n\n## Twice\n\n## What's *new*, `really`?", lambda _: None)

    assert [each.anchor for each in page.sections] == ["t", "get-sourceids", "twice", "twice-1", "whats-new-really"]
    assert 'href="#twice-1"' in page.html


def test_a_link_that_leads_nowhere_is_told_and_is_no_link() -> None:
    page = rendered("# T\n\n[there](gone.md) [here](there.md#part)", lambda path: None if "gone" in path else "/x")

    assert page.broken == ["gone.md"]
    assert Links(page.html).addresses == ["/x#part"]


def test_code_of_a_language_that_nobody_knows_is_plain_text() -> None:
    assert "&lt;tag&gt;" in html_of("# T\n\n```klingon\n<tag>\n```")
    assert '<p class="file"><code>a.json</code></p>' in html_of("# T\n\n```json file=a.json\n{}\n```")


# Search


def entry(title: str, text: str = "", page: str = "Page") -> SearchEntry:
    return SearchEntry(page=page, title=title, address="/x", text=text)


def test_all_words_must_be_found_and_headings_go_before_text() -> None:
    entries = [entry("One", "a whitelist"), entry("Whitelist"), entry("Whitelist of", "pieces"), entry("Other")]

    assert [each.entry.title for each in search(entries, ["whitelist"])] == ["Whitelist", "Whitelist of", "One"]
    assert [each.entry.title for each in search(entries, ["white", "pie"])] == ["Whitelist of"]
    assert search(entries, ["list"]) == []
    assert search(entries, []) == []


def test_an_excerpt_shows_the_words_and_no_html() -> None:
    (found,) = search([entry("T", "x " * 300 + "then <b>weights</b> count " + "y " * 300)], ["weight"])

    assert "&lt;b&gt;<mark>weight</mark>s&lt;/b&gt;" in found.excerpt
    assert found.excerpt.startswith("… ")
    assert found.excerpt.endswith(" …")


def test_a_long_query_is_cut() -> None:
    assert len(words_of("ab " * 500)) == 8
    assert len(words_of("x" * 9_000)[0]) == 200


@pytest.mark.parametrize("query", ("blacklist", "catalogs at", "Jaccard", "erase", "retention"))
def test_the_documents_are_searched(service: Service, query: str) -> None:
    page = service.client.get("/-/docs/search", params={"q": query}).text

    assert "<mark>" in page
    assert Links(page).addresses


def test_a_hostile_query_is_shown_as_text(service: Service) -> None:
    page = service.client.get("/-/docs/search", params={"q": "\"><script>alert('x')</script> (( \\ .* 🦊"})

    assert page.status_code == 200
    assert "<script" not in page.text
    assert service.client.get("/-/docs/search").status_code == 200
    assert "Nothing has all" in service.client.get("/-/docs/search?q=zzzzqq").text


# The API reference


def test_the_reference_has_every_operation_with_its_errors_and_an_example(service: Service) -> None:
    index = service.client.get("/-/docs/api").text
    document = service.client.get("/-/openapi.json").json()
    for operation in OPERATIONS:
        page = service.client.get(f"/-/docs/api-{operation.tag}").text
        section = page.split(f'<h2 id="{operation.name}">')[1].split("</section>")[0]

        assert f"{operation.method} {operation.path}" in index
        assert all(f"<code>{parameter.name}</code>" in section for parameter in operation.parameters)
        assert all(f'href="/-/problems/{code}"' in section for code in error_codes(operation))
        statuses = document["paths"][operation.path][operation.method.lower()]["responses"]
        assert all(status in section for status in statuses)
        assert ("curl" in section) == ("Example" in section)
        assert "curl" in section or operation.name == "problem"


def test_the_reference_lists_the_members_of_a_body(service: Service) -> None:
    submitting = service.client.get("/-/docs/api-content").text
    listing = service.client.get("/-/docs/api-recommendations").text

    assert "<code>[].filters.availableFrom</code>" in submitting
    assert "<code>content[].score</code>" in listing


def test_every_command_of_the_reference_is_one_that_a_test_runs(service: Service) -> None:
    """Those of the interface's page are run as they are (tests/documents); the others only get an address."""
    run = [curl(request) for request in re.findall(r"```http\n(.*?)```", Library().interface, re.DOTALL)]
    for operation in DocumentSite(service.client.get("/-/openapi.json").json(), "").operations():
        if operation.example and operation.example not in run:
            address = operation.example.removeprefix(f"curl -s {ADDRESS}")

            assert service.client.get(address).status_code == 200, operation.example


def test_a_printed_request_becomes_a_command() -> None:
    assert curl("GET /s/ids?limit=1") == "curl -s -H \"x-api-key: $KEY\" 'http://127.0.0.1:8080/s/ids?limit=1'"
    assert curl("DELETE /s/ids").startswith("curl -s -X DELETE -H")
    assert curl("GET /-/health/live") == "curl -s http://127.0.0.1:8080/-/health/live"
    posted = curl('POST /s/content\ncontent-type: application/json\n\n["it\'s"]')
    assert "-X" not in posted
    assert "--data-binary '[\"it'\"'\"'s\"]'" in posted


# The wheel


def test_a_wheel_has_the_documents_and_serves_them(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--no-build-isolation", "--wheel-dir", str(tmp_path), str(ROOT / "packages" / "penchant")],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "unpacked")

    asked = "from penchant.web.site.library import Library as L; d = L(); print(d.root, *d.documents, *d.pictures)"
    packaged = subprocess.run(
        [sys.executable, "-c", asked],
        env={"PYTHONPATH": str(tmp_path / "unpacked")}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip

    assert packaged.returncode == 0, packaged.stderr
    root, *slugs = packaged.stdout.split()
    assert root == str(tmp_path / "unpacked" / "penchant" / "documents")
    assert slugs == [*Library().documents, *Library().pictures]
    assert (tmp_path / "unpacked" / "penchant" / "web" / "site" / "style.css").is_file()
