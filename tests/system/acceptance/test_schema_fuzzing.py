"""Requests made from the OpenAPI document get the statuses, types and bodies that it promises."""

import subprocess
import sys
from pathlib import Path

import pytest

from acceptance.servers import Server

PATIENCE_S = "120"
CHECKS = "status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.stress
def test_answers_conform_to_the_openapi_document(tmp_path: Path) -> None:
    settings = tmp_path / "penchant.toml"
    settings.write_text("min-version-timeout-s = 0.05\n")
    # Methods that it does not name are refused by one rule, of which tests/web/test_access.py has the cases.
    (tmp_path / "schemathesis.toml").write_text("[phases.coverage]\nunexpected-methods = []\n")
    server = Server(tmp_path / "data", "--settings", str(settings))
    server.client.post("/s/content", json=[{"id": "a", "categories": {"genre": ["x"]}}])

    # It would give up a document, and a request, after ten seconds, which a busy machine may take.
    document = tmp_path / "openapi.json"
    document.write_bytes(server.client.get("/-/openapi.json").content)

    fuzzed = subprocess.run(
        [
            str(Path(sys.executable).parent / "schemathesis"),
            "run",
            str(document),
            "--url",
            server.url,
            "--request-timeout",
            PATIENCE_S,
            "--header",
            f"x-api-key: {server.key}",
            "--checks",
            CHECKS,
            "--max-examples",
            "3",
            "--seed",
            "1",
        ],
        capture_output=True,
        text=True,
        timeout=1_000,
        check=False,
        cwd=tmp_path,
    )

    assert server.stop() == 0
    assert fuzzed.returncode == 0, fuzzed.stdout
