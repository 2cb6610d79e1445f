"""The notebook of the documents runs from its first cell to its last against a real service."""

import asyncio
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from acceptance.servers import Server

pytestmark = pytest.mark.slow

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"


def outputs(cell: Any, media_type: str) -> list[str]:
    """Return what a cell has put out of a kind."""
    return [each["data"][media_type] for each in cell.get("outputs", ()) if media_type in each.get("data", {})]


def test_the_first_look_leads_from_a_frame_to_a_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(tmp_path / "data")
    monkeypatch.setenv("PENCHANT_URL", server.url)
    monkeypatch.setenv("PENCHANT_KEY", server.key)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(NOTEBOOKS / "first-look.ipynb", 4)  # type: ignore[no-untyped-call]  # it is half typed
    assert not any(cell.get("outputs") for cell in notebook.cells)  # as it is stored

    asyncio.run(NotebookClient(notebook, timeout=120).async_execute())

    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert outputs(code[-1], "image/png")
    assert any("Oz the Great" in table for cell in code for table in outputs(cell, "text/html"))
    assert server.stop() == 0


def test_the_library_leads_from_a_frame_to_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(NOTEBOOKS / "library.ipynb", 4)  # type: ignore[no-untyped-call]  # it is half typed
    assert not any(cell.get("outputs") for cell in notebook.cells)  # as it is stored

    asyncio.run(NotebookClient(notebook, timeout=300).async_execute())

    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    near, people = outputs(code[1], "text/html")[0], outputs(code[3], "text/html")[0]
    assert near.count("<tr>") == people.count("<tr>") == 5
    assert "audience" in people
    assert int(outputs(code[-1], "text/plain")[0]) < 10
