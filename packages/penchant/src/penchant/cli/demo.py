"""``penchant demo``: load the catalogues that ship with the project, serve them, and say how to ask."""

import os
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import msgspec

from penchant.bootstrap import storage_of
from penchant.cli.importing import load_ndjson
from penchant.cli.keys import make_key
from penchant.cli.locations import DataLocation
from penchant.cli.options import DEMO_KEY_FILE
from penchant.cli.serve import run
from penchant.model import FULL_PLAN
from penchant.storage import Storage

ACCOUNT = "demo"
"""The account of the catalogues, apart from those that people use in earnest."""
CATALOGUES = {
    "films": ("pieces.ndjson.gz", "interactions.ndjson.gz"),
    "works": ("pieces.ndjson", "interactions.ndjson"),
}

GREETING = """
penchant serves two demo catalogues, films and works, at {address}

The key of the account demo (also in {key_file}):
  {key}

Paste these into another terminal. Pieces like Pride and Prejudice:
  curl -H 'x-api-key: {key}' '{address}/works/content/pride-and-prejudice/similar?take=5'

You like Jane Eyre:
  curl -X POST -H 'x-api-key: {key}' '{address}/works/users/you/interactions/RateLike/content/jane-eyre'

What you may like as well:
  curl -H 'x-api-key: {key}' '{address}/works/users/you/recommendation?take=5'

See it in a browser: what editors see is at {address}/-/dashboard, where you sign in with the key, the documents, with
a quickstart, at {address}/-/docs. Ctrl-C ends the demo; the data stays.
"""


def serve_demo(location: DataLocation, *, load_only: bool, cors_origins: tuple[str, ...], **listening: Any) -> None:
    """Load the demo catalogues where they are not there yet, and serve them."""
    # Added to those of the settings' file, where there are some.
    settings = location.settings(**listening)
    settings = msgspec.structs.replace(settings, cors_origins=(*settings.cors_origins, *cors_origins))
    with closing(storage_of(settings)) as storage:
        key_file = Path(settings.data) / DEMO_KEY_FILE
        # A file of 0.1.0 has a key of the account `default`: there the catalogues are already, and there they stay.
        account, key = _kept_key(storage, key_file)
        _load_catalogues(storage, account)
    click.echo(GREETING.format(address=settings.own_address, key=key, key_file=key_file))
    if not load_only:
        run(settings)


def _load_catalogues(storage: Storage, account: str) -> None:
    for source, (pieces, interactions) in CATALOGUES.items():
        if storage.sources.read_head(storage.accounts.ensure(account), source) is not None:
            continue
        folder = Path(str(files("penchant.demo"))) / source
        load_ndjson(storage, account, source, pieces=folder / pieces, interactions=folder / interactions)


def _kept_key(storage: Storage, key_file: Path) -> tuple[str, str]:
    """Return the account and the key in a file where it still works, otherwise a new one of the demo's account."""
    if key_file.exists():
        key = key_file.read_text(encoding="ascii").strip()
        # A key is "pk", its id and its secret; the id tells whether it was revoked.
        record = storage.keys.find(key.split("_")[1]) if key.count("_") == 2 else None
        if record is not None and record.revoked_at is None:
            return record.account, key
        key_file.unlink()
    _, key = make_key(storage, account=ACCOUNT, plan=FULL_PLAN.name)
    descriptor = os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key + "\n")
    return ACCOUNT, key
