"""Transport of a request: from which address it came, and whether over TLS, as far as can be believed.

Forwarded headers count only from the addresses in ``trusted-proxies``: everybody else could write them, too.
"""

import functools
from collections.abc import Sequence
from ipaddress import ip_address, ip_network

from starlette.datastructures import Headers
from starlette.types import Scope

from penchant.settings import NodeSettings


def is_secure(scope: Scope, headers: Headers, settings: NodeSettings) -> bool:
    """Return whether a request came over TLS, to us or to a trusted proxy."""
    if settings.tls_certificate is not None:
        return True
    if not _is_trusted(_peer(scope), settings.trusted_proxies):
        return False
    return headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower() == "https"


def client_address(scope: Scope, headers: Headers, settings: NodeSettings) -> str:
    """Return the address that a request came from: the last one that no trusted proxy has."""
    address = _peer(scope)
    forwarded = [part.strip() for text in headers.getlist("x-forwarded-for") for part in text.split(",")]
    # From the right, where each proxy adds the address it saw; what stands left of the first stranger is hearsay.
    while forwarded and _is_trusted(address, settings.trusted_proxies):
        address = forwarded.pop()
    return address


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])


@functools.lru_cache(maxsize=1_024)
def _is_trusted(address: str, proxies: Sequence[str]) -> bool:
    if not proxies:
        return False
    try:
        # A socket for IPv4 and IPv6 shows IPv4 addresses in this form.
        parsed = ip_address(address.removeprefix("::ffff:"))
    except ValueError:
        return False
    return any(parsed in ip_network(proxy) for proxy in proxies)
