"""``penchant doctor``: what a request for support needs to tell, and nothing that is secret."""

import os
import platform
import shutil
import sys
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import msgspec

from penchant import __version__
from penchant.bootstrap import ERRORS_FILE, index_folder, kernel_folder, storage_of
from penchant.cli.locations import DataLocation, data_options
from penchant.cli.options import json_option
from penchant.cli.upkeep import MIB, is_served
from penchant.enrichment import absent_of
from penchant.errors import PenchantError, Refused
from penchant.hooks import packages
from penchant.live.checking import index_problems
from penchant.settings import NodeSettings
from penchant.storage import Storage
from penchant.telemetry import last_errors
from penchant.wire import encode
from penchant_engine.compiling import are_compiled

PACKAGES = ("granian", "llvmlite", "msgspec", "numba", "numpy", "prometheus-client", "psycopg", "SQLAlchemy")
"""Packages whose versions matter most often."""
PLAIN = frozenset({"base_path", "data", "host", "kernel_folder", "log_format", "log_level"})
"""Settings that are texts and may be shown; of all others only numbers and yes or no are, so that a new one is safe."""
DATABASE_FILES = ("penchant.db", "penchant.db-wal")


@click.command()
@data_options
@click.option("--quick", is_flag=True, help="Leave out the checks, which read all that is stored.")
@json_option
def doctor(*, location: DataLocation, quick: bool, as_json: bool) -> None:
    """Tell what a request for support needs: versions, settings that differ, sizes, checks and the last errors.

    Also while a server runs on the same data. Nothing secret is told: no keys, passwords or addresses with them, no
    names of accounts, sources or people, no words of what went wrong but the service's own. Exit code 1 where a check
    finds something.
    """
    settings = location.settings()
    report = {"versions": _versions(), "machine": _machine(settings), "settings": _settings(settings)}
    stored = _stored(settings, quick=quick)
    report |= stored | {"lastErrors": msgspec.to_builtins(last_errors(Path(settings.data) / ERRORS_FILE))}
    if as_json:
        click.echo(encode(report).decode())
    else:
        _show(report)
    if stored["checks"]["problems"]:
        sys.exit(1)


def _versions() -> dict[str, str]:
    versions = {"penchant": __version__, "python": platform.python_version(), "system": platform.platform()}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions | packages().versions


def _machine(settings: NodeSettings) -> dict[str, Any]:
    folder = Path(settings.data)
    return {
        "cores": os.cpu_count(),
        "memoryMiB": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MIB,
        "freeDiskMiB": shutil.disk_usage(folder).free // MIB if folder.exists() else None,
        "serverRuns": is_served(folder),
        "kernelsCompiled": are_compiled(kernel_folder(settings)),
    }


def _settings(settings: NodeSettings) -> dict[str, Any]:
    """Return the settings that are not the default; of what may be secret or name somebody only that it is set."""
    default = NodeSettings()
    changed: dict[str, Any] = {}
    for field in msgspec.structs.fields(NodeSettings):
        value = getattr(settings, field.name)
        if value == getattr(default, field.name):
            continue
        is_plain = isinstance(value, bool | int | float) or field.name in PLAIN
        changed[field.encode_name] = value if is_plain else "set" if isinstance(value, str) else f"set, {len(value)}"
    return changed


def _stored(settings: NodeSettings, *, quick: bool) -> dict[str, Any]:
    """Return sizes and checks; of a database that cannot be opened, or is not there yet, why there are none."""
    folder = Path(settings.data)
    files = *DATABASE_FILES, index_folder(settings).name
    sizes: dict[str, Any] = {f"{name}MiB": round(_size(folder / name) / MIB, 1) for name in files}
    began = time.monotonic()
    try:
        storage = storage_of(settings, make=False)
    except Refused:
        return {"database": {"state": "not there yet"}, "sizes": sizes, "checks": {"problems": 0}}
    except PenchantError as error:
        # What everybody may be told: the reason for the operator has names.
        state = {"state": error.code, "detail": error.detail}
        return {"database": state, "sizes": sizes, "checks": {"problems": 1}}
    try:
        server, size = storage.upkeep.describe()
        heads = storage.sources.list_large(0)
        sizes |= {
            "sources": len(heads),
            "pieces": sum(head.piece_count for head in heads),
            "piecesOfTheLargest": max((head.piece_count for head in heads), default=0),
            "interactionsVersions": sum(head.interactions_version for head in heads),
        }
        if size is not None:
            sizes["databaseMiB"] = round(size / MIB, 1)
        checks = {
            "warnings": storage.upkeep.ping(),
            "pullsThatNobodyRuns": storage.upkeep.count_former_pulls(),
            "problems": 0 if quick else _count_problems(storage, settings),
            "leftOut": quick,
            "seconds": round(time.monotonic() - began, 1),
        }
        database = {"state": "open", "server": server}
        if unknown := storage.upkeep.unknown_tables():
            database["tablesOfPluginsThatAreMissing"] = ", ".join(unknown)
        absent = {name for each in storage.sources.list_enriched() for name in absent_of(each.rules.wanted)}
        if absent:
            database["keywordsOfPackagesThatAreMissing"] = ", ".join(sorted(absent))
        return {"database": database, "sizes": sizes, "checks": checks}
    finally:
        storage.close()


def _count_problems(storage: Storage, settings: NodeSettings) -> int:
    """Return how many problems `penchant check` would name; their words hold names of sources."""
    return len(storage.upkeep.check() or list(index_problems(storage, index_folder(settings))))


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in (path, *path.rglob("*")) if each.is_file())


def _show(report: Mapping[str, Any]) -> None:
    for heading, members in report.items():
        click.echo(f"{heading}:")
        rows = members.items() if isinstance(members, Mapping) else [("", " ".join(each.values())) for each in members]
        for name, value in rows:
            click.echo(f"  {name}: {value}" if name else f"  {value}")
        if not members:
            click.echo("  none")
    if report["checks"]["problems"]:
        click.echo("`penchant check` names the problems.")
