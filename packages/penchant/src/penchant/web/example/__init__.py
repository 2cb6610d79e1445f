"""Example: pages below ``/-/example``, made with the elements of pages (``clients/elements``) and a browser key alone.

They are for the demo. What they load is what a page elsewhere would: the elements, lists, reports, drawn covers. The
file of the elements itself is served by every node, so that a page needs no build.
"""

from penchant.web.example.pages import EXAMPLE_KEY_FILE, example_operations

__all__ = ["EXAMPLE_KEY_FILE", "example_operations"]
