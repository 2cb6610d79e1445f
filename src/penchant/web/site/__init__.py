"""Documents below ``/-/docs``: the project's documents and an API reference, as pages for people.

Rendered from the packaged Markdown and the routing table when first asked for, kept from then on. Never loads anything
from elsewhere, never runs a script, and knows nothing of sources and keys.
"""

from penchant.web.site.serving import DocumentSite, site_operation

__all__ = ("DocumentSite", "site_operation")
