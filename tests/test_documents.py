"""The documents say what the code does."""

import json
import re
import runpy
import time
import tomllib
from pathlib import Path

import msgspec
import pytest
import yaml  # type: ignore[import-untyped]
from prometheus_client.metrics import MetricWrapperBase

from documents.blocks import interface_in_order
from documents.reading import matches
from penchant.settings import GroupSettings, NodeSettings, PlanSettings, load_settings
from penchant.telemetry import Metrics
from penchant.web.openapi import description_of
from penchant.web.problems import problem_kinds
from penchant.web.routes import interface_operations
from penchant_rows.service.metrics import RowMetrics
from serving import Service

OPERATIONS = interface_operations()

ROOT = Path(__file__).parents[1]
SITE = runpy.run_path(str(ROOT / "scripts" / "documents.py"))
"""What makes pages of the documents and of the code."""
LINES = re.compile(r"```http\n[^`]*```\n\n```text\n")
EXAMPLE = re.compile(r"```http\n([^`]*)```\n\n```json ?(\d*)\n(.*?)```", re.DOTALL)


ANSWERS_OF_ONE = 200
"""How often one is asked for again at most."""


def examples() -> list[tuple[str, int, str]]:
    page = interface_in_order()
    # Answers of lines stand in a text block; tests/documents compares those.
    assert page.count("```http\n") == len(EXAMPLE.findall(page)) + len(LINES.findall(page))
    return [(request, int(status or 200), answer) for request, status, answer in EXAMPLE.findall(page)]


@pytest.mark.slow
def test_every_example_of_the_interface_is_answered_as_printed(service: Service) -> None:
    texts = {"$ADMIN_KEY": service.new_key(admin=True)}
    for printed_request, status, answer in examples():
        request = printed_request
        for name, text in texts.items():
            request = request.replace(name, text)
        head, _, body = request.partition("\n\n")
        first, *lines = head.strip().splitlines()
        method, path = first.split(" ")
        headers = dict(line.split(": ") for line in lines)

        found = service.request(method, path, headers=headers, content=body.encode() or None)
        # What is just being found out is in one of the next answers.
        for _ in range(ANSWERS_OF_ONE if method == "GET" else 0):
            if matches(found.json(), json.loads(answer)):
                break
            time.sleep(0.05)
            found = service.request(method, path, headers=headers)

        assert found.status_code == status, (first, found.text)
        assert matches(found.json(), json.loads(answer)), (first, found.text)
        if "keyId" in found.json():
            texts["$KEY_ID"] = found.json()["keyId"]


def test_every_operation_is_described_and_has_an_example() -> None:
    page = interface_in_order()
    asked = [request.splitlines()[0] for request, _, _ in examples()]
    for operation in OPERATIONS:
        pattern = operation.method + " " + re.sub(r"\\{\w+\\}", r"[^/?]+", re.escape(operation.path)) + r"(\?.*)?"
        if operation.name in {"live", "metrics", "problem", "listChanges"}:
            assert operation.path in page
        else:
            assert any(re.fullmatch(pattern, line) for line in asked), operation.name


@pytest.mark.slow
def test_what_a_key_needs_for_an_operation_stands_in_its_row_alone() -> None:
    for operation in OPERATIONS:
        description = description_of(operation, interface_in_order())
        assert ("monthly quota" in description) == operation.counted, operation.name
        assert (f"Needs the scope `{operation.scope}`" in description) == (operation.scope is not None), operation.name
        assert operation.feature is None or f"`{operation.feature.value}`" in description, operation.name


def test_every_setting_and_metric_says_what_it_is() -> None:
    tables = {name: make() for name, make in SITE["TABLES"].items()}

    for record, name in ((NodeSettings, "settings"), (PlanSettings, "plans"), (GroupSettings, "groups")):
        for field in msgspec.structs.fields(record):
            assert re.search(
                rf"^\| `{field.encode_name}`[ *]* \| [^|]+ \| \S[^|]+\. \|$", tables[name], re.MULTILINE
            ), field
    assert tables["metrics"].count("| `penchant_") == len(METRICS)
    assert tables["errors"].count("\n| `") == len(problem_kinds())
    assert "### penchant keys create" in tables["commands"]


def test_every_decision_that_is_cited_is_there() -> None:
    decided = set(re.findall(r"\*\*(D\d+)\.", (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")))
    texts = [
        path.read_text(encoding="utf-8")
        for folder in ("packages", "tests", "docs", "scripts")
        for ending in ("py", "md")
        for path in (ROOT / folder).rglob(f"*.{ending}")
        if "node_modules" not in path.parts
    ]
    # A rule of the linter may be called alike.
    cited = {number for text in texts for number in re.findall(r"(?<!noqa: )\bD\d{1,3}\b", text)}

    assert cited <= decided


def test_every_table_that_is_made_has_its_place() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))

    assert set(re.findall(r"<!-- made of the code: (\w+) -->", texts)) == SITE["TABLES"].keys()


def test_the_example_settings_are_accepted(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    file = tmp_path / "penchant.toml"
    file.write_text(example)

    assert load_settings(file=file, environment={}).plan("press") is not None
    assert tomllib.loads(example)["port"] == 8080


def kinds_of_metrics() -> dict[str, tuple[str, ...]]:
    """Return each metric with its kind and labels."""
    kinds: dict[str, tuple[str, ...]] = {}
    metrics = Metrics()
    for collector in (*vars(metrics).values(), *vars(metrics.of(RowMetrics)).values()):
        if isinstance(collector, MetricWrapperBase):
            (metric,) = collector.describe()
            name = f"{metric.name}_total" if metric.type == "counter" else metric.name
            kinds[name] = (metric.type, *collector._labelnames)
    return kinds


METRICS = kinds_of_metrics()


def test_the_metrics_page_worries_about_metrics_that_there_are() -> None:
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")

    assert set(re.findall(r"^\| `(penchant_\w+)`", page, re.MULTILINE)) < METRICS.keys()


def assert_is_known(query: str) -> None:
    """Check that a query asks for metrics that there are, by labels that they have."""
    asked = re.findall(r"(penchant_\w+?)(_bucket|_sum|_count)?(?:\{([^}]*)\}|(?=[\[ )]|$))", query)
    assert len(asked) == query.count("penchant_"), query
    labels = {label for _, _, matchers in asked for label in re.findall(r"(\w+)=", matchers)}
    labels |= set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", query))))
    for name, part, _ in asked:
        kind, *own = METRICS[name]
        assert bool(part) == (kind == "histogram"), query
        assert labels <= {*own, "instance", "job", *["le"] * bool(part)}, query


def test_the_example_alerts_ask_for_metrics_that_there_are() -> None:
    rules = yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]

    assert len({rule["alert"] for rule in rules}) == len(rules) > 5
    for rule in rules:
        assert_is_known(rule["expr"])
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"]


def test_every_panel_of_the_dashboard_asks_for_metrics_that_there_are() -> None:
    board = json.loads((ROOT / "deploy" / "grafana.json").read_text(encoding="utf-8"))
    panels = board["panels"]

    assert len({panel["title"] for panel in panels}) == len({panel["id"] for panel in panels}) == len(panels) > 10
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels)
    for panel in panels:
        for target in panel["targets"]:
            assert_is_known(target["expr"])
            named = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert named <= set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", target["expr"]))))
    assert {each["name"] for each in board["templating"]["list"]} >= set(re.findall(r"\$(?!__)(\w+)", str(panels)))
