"""Requests about what editors steer: whitelist, blacklist, settings."""

from collections.abc import Iterable, Mapping

from penchant.client.requests import Request, encode, ids_body, reading
from penchant.wire.settings import Settings

_WHITELIST, _BLACKLIST, _SETTINGS = "/{source}/whitelist", "/{source}/blacklist", "/{source}/settings"


def get_whitelist(source: str) -> Request[list[str]]:
    """Read the whitelist."""
    return reading(_WHITELIST, list[str], {"source": source})


def put_whitelist(source: str, ids: Iterable[str]) -> Request[list[str]]:
    """Replace the whitelist: up to 10,000 ids, order kept."""
    return _change("PUT", _WHITELIST, source, ids_body(ids))


def delete_whitelist(source: str) -> Request[list[str]]:
    """Empty the whitelist."""
    return _change("DELETE", _WHITELIST, source)


def get_blacklist(source: str) -> Request[list[str]]:
    """Read the blacklist."""
    return reading(_BLACKLIST, list[str], {"source": source})


def put_blacklist(source: str, ids: Iterable[str]) -> Request[list[str]]:
    """Replace the blacklist: up to 10,000 ids, order kept."""
    return _change("PUT", _BLACKLIST, source, ids_body(ids))


def delete_blacklist(source: str) -> Request[list[str]]:
    """Empty the blacklist."""
    return _change("DELETE", _BLACKLIST, source)


def _change(method: str, template: str, source: str, body: bytes | None = None) -> Request[list[str]]:
    return Request(
        method=method, template=template, places={"source": source}, body=body, answer=list[str], repeatable=True
    )


def get_settings(source: str) -> Request[Settings]:
    """Read the settings of a source."""
    return reading(_SETTINGS, Settings, {"source": source})


def put_settings(source: str, settings: Settings | Mapping[str, object]) -> Request[Settings]:
    """Replace the settings of a source as a whole; members left out return to their defaults.

    To change one, read them and put them back with `msgspec.structs.replace`.
    """
    return Request(
        method="PUT",
        template=_SETTINGS,
        places={"source": source},
        body=encode(settings),
        answer=Settings,
        repeatable=True,
    )
