"""Images of pieces: which addresses a page may show.

The browser loads them, never the desk. An address comes from whoever submitted the piece, so a page names only what is
plainly one of an allowed host; the page's policy holds the browser to the same hosts.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable

MAX_ADDRESS = 1_000
"""Characters of the address of a picture: those that are signed have some hundreds."""
MAX_NAMED = 3
_HOST = r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[1-9][0-9]{0,4})?"
# No user, no backslash, no space: of these browsers and other readers make different hosts.
_ADDRESS = re.compile(rf"(https?)://({_HOST})(?:[/?#][^\s\\]*)?", re.ASCII | re.IGNORECASE)
_OWN_HOSTS = frozenset({"localhost", "127.0.0.1"})
"""Hosts that are spoken to by HTTP as well: nobody is in between."""


def image_sources(hosts: Collection[str]) -> str:
    """Return the sources of pictures in a page's policy, for pictures of these hosts."""
    schemes = [(host, "https") for host in hosts] + [(host, "http") for host in hosts if _is_own(host)]
    return " ".join(["'self'", *(f"{scheme}://{host}" for host, scheme in schemes)])


def image_host(address: str) -> str | None:
    """Return the host of a picture as ``image-hosts`` would name it; ``None`` where no page may show the picture.

    That is by HTTPS, from the own machine by HTTP too.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or len(address) > MAX_ADDRESS or not address.isprintable():
        return None
    host = match[2].lower()
    return host if match[1].lower() == "https" or _is_own(host) else None


def closed_hosts(addresses: Iterable[str], allowed: Collection[str]) -> list[str]:
    """Return hosts of pictures that ``image-hosts`` does not allow yet, at most three, those of most pictures first."""
    counts = Counter(image_host(address) for address in addresses)
    return [host for host, _ in counts.most_common() if host is not None and host not in allowed][:MAX_NAMED]


def _is_own(host: str) -> bool:
    return host.partition(":")[0] in _OWN_HOSTS
