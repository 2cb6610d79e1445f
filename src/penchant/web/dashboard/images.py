"""Images of pieces: which addresses a page may show.

The browser loads them, never the service. An address comes from whoever submitted the piece, so a page names only what
is plainly one of an allowed host; the page's policy holds the browser to the same hosts.
"""

import re
from collections.abc import Collection

MAX_ADDRESS = 1_000
"""Characters of an address: those that are signed have some hundreds."""
_OWN_HOSTS = frozenset({"localhost", "127.0.0.1"})
"""Hosts that are spoken to by HTTP as well: nobody is in between."""
# No user, no backslash, no space: of these browsers and other readers make different hosts.
_ADDRESS = re.compile(r"(https?)://([a-z0-9.-]+(?::[0-9]{1,5})?)(?:[/?#][^\s\\]*)?", re.ASCII | re.IGNORECASE)


def image_sources(hosts: Collection[str]) -> str:
    """Return the sources of pictures in a page's policy, for pictures of these hosts."""
    schemes = [(host, "https") for host in hosts] + [(host, "http") for host in hosts if _is_own(host)]
    return " ".join(["'self'", *(f"{scheme}://{host}" for host, scheme in schemes)])


def is_shown(address: str, hosts: Collection[str]) -> bool:
    """Return whether a page may show the picture at an address: it is one of these hosts, by HTTPS."""
    match = _ADDRESS.fullmatch(address)
    if match is None or len(address) > MAX_ADDRESS or not address.isprintable():
        return False
    scheme, host = match[1].lower(), match[2].lower()
    return host in hosts and (scheme == "https" or _is_own(host))


def _is_own(host: str) -> bool:
    return host.partition(":")[0] in _OWN_HOSTS
