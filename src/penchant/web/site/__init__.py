"""What is served below ``/-/docs``? The project's documents and an API reference, as pages for people.

Rendered from the packaged Markdown and the routing table when first asked for, kept from then on. Never loads anything
from elsewhere, never runs a script, and knows nothing of sources and keys.
"""

from penchant.web.site.serving import Site, site_operation

__all__ = ("Site", "site_operation")
