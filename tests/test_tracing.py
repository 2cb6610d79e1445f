"""Spans tell where a request's time goes, and nothing of whose it is."""

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from factories import piece
from penchant.errors import InvalidSettings
from penchant.tracing import Attributes, Tell, beginning, send_spans, tracing
from serving import Service

HAS_SDK = importlib.util.find_spec("opentelemetry.sdk") is not None


class Collected:
    """Spans in the order in which they ended, with their attributes."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, dict[str, str | int]]] = []

    @contextmanager
    def begin(self, name: str, headers: Mapping[str, str] | None) -> Iterator[Tell]:
        assert (headers is not None) == (name == "request")
        told: dict[str, str | int] = {}

        def tell(attributes: Attributes) -> None:
            told.update(attributes)

        yield tell
        self.spans.append((name, told))


@pytest.fixture
def collected() -> Iterator[Collected]:
    found = Collected()
    tracing.collect(found.begin)
    yield found
    tracing.collect(None)


def asked(service: Service) -> None:
    service.submit("secret-source", piece("secret-piece", "x"), piece("b", "x"))
    service.post("/secret-source/users/secret-person/interactions/Watch/content/b")
    service.get("/secret-source/content/secret-piece/similar")
    service.get("/secret-source/users/secret-person/recommendation")


def answering(collected: Collected) -> list[str]:
    """Return the spans of answers, in their order: what is stored beside requests may end between them, and after."""
    return [name for name, _ in collected.spans if name in {"search", "request"}]


def test_every_step_of_a_request_has_its_span(service: Service, collected: Collected) -> None:
    asked(service)

    names = [name for name, _ in collected.spans]
    assert sorted(set(names)) == ["catch-up", "change", "commit", "count", "request", "search"]
    assert names.count("request") == 4
    assert answering(collected)[-2:] == ["search", "request"]
    assert ("commit", {"penchant.lane": "content", "penchant.changes": 1}) in collected.spans
    attributes = {"http.route": "/{source}/users/{userID}/recommendation", "http.request.method": "GET"}
    requests = [told for name, told in collected.spans if name == "request"]
    assert requests[-1] == attributes | {"http.response.status_code": 200}


def test_given_pieces_are_searched_for_as_well(service: Service, collected: Collected) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    service.post("/s/users/u/rank", json={"content": ["a", "b"]})

    assert answering(collected)[-2:] == ["search", "request"]


def test_no_attribute_tells_whose_it_is(service: Service, collected: Collected) -> None:
    asked(service)
    service.get("/secret-source/content/secret-other")
    service.client.request("SECRET", "/secret-source/ids")

    assert "secret" not in str(collected.spans).lower()


def test_without_a_collector_nothing_is_made() -> None:
    assert tracing.span("one") is tracing.span("another")


@pytest.mark.skipif(HAS_SDK, reason="OpenTelemetry is installed")
def test_an_endpoint_without_the_extra_is_a_clear_error() -> None:
    with pytest.raises(InvalidSettings, match=r"penchant\[tracing\]"):
        send_spans("http://127.0.0.1:1/v1/traces")


@pytest.mark.skipif(not HAS_SDK, reason="OpenTelemetry is not installed")
def test_spans_of_opentelemetry_are_nested_and_continue_the_caller_s(service: Service) -> None:
    sdk: Any = importlib.import_module("opentelemetry.sdk.trace")
    export: Any = importlib.import_module("opentelemetry.sdk.trace.export")
    memory: Any = importlib.import_module("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    propagate, trace = (importlib.import_module(f"opentelemetry.{name}") for name in ("propagate", "trace"))
    exporter = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    service.submit("s", piece("a", "x"), piece("b", "x"))
    tracing.collect(beginning(provider, propagate, trace), provider.shutdown)
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    service.get("/s/content/a/similar", headers={"traceparent": caller})
    spans = {span.name: span for span in exporter.get_finished_spans()}
    tracing.close()

    assert f"{spans['request'].parent.span_id:x}" == "b7ad6b7169203331"
    assert {name: span.parent.span_id for name, span in spans.items() if name != "request"} == {
        "catch-up": spans["request"].context.span_id,
        "search": spans["request"].context.span_id,
    }
    assert spans["request"].attributes["http.response.status_code"] == 200
    assert {f"{span.context.trace_id:x}" for span in spans.values()} == {"af7651916cd43dd8448eb211c80319c"}
