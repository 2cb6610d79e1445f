"""Workers send spans to whoever collects them, where the extra is installed."""

import importlib.util
from pathlib import Path

import pytest

from acceptance.servers import Server, command
from client.answering import Answer, answering

pytestmark = pytest.mark.slow
HAS_SDK = importlib.util.find_spec("opentelemetry.sdk") is not None


def settings(folder: Path, port: int) -> Path:
    path = folder / "settings.toml"
    path.write_text(f'tracing-endpoint = "http://127.0.0.1:{port}/v1/traces"\n')
    return path


@pytest.mark.skipif(not HAS_SDK, reason="OpenTelemetry is not installed")
def test_spans_arrive_at_the_latest_when_the_service_ends(tmp_path: Path) -> None:
    with answering(Answer(200)) as collector:
        server = Server(tmp_path / "data", "--settings", str(settings(tmp_path, collector.server_port)))
        server.client.post("/secret-source/content", json=[{"id": "secret-piece", "categories": {}}])
        server.client.get("/secret-source/users/secret-person/recommendation")

        assert server.stop() == 0

    sent = b"".join(each.body for each in collector.asked)
    for name in (b"request", b"commit", b"change", b"search", b"/{source}/users/{userID}/recommendation"):
        assert name in sent
    assert b"secret" not in sent


@pytest.mark.skipif(HAS_SDK, reason="OpenTelemetry is installed")
def test_an_endpoint_without_the_extra_ends_the_start_with_a_clear_message(tmp_path: Path) -> None:
    failed = command("serve", "--data", str(tmp_path / "data"), "--settings", str(settings(tmp_path, 1)))

    assert failed.returncode == 2
    assert "penchant[tracing]" in failed.stderr
