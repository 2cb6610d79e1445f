"""Dashboard for people: pages below ``/-/dashboard``, made on the server.

They work as plain links and forms; a script adds dragging. They ask the same use cases as the interface, with the
same key, plan and limits, and never storage or the index.
"""

from penchant.web.dashboard.routes import dashboard_operations

__all__ = ["dashboard_operations"]
