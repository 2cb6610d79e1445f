"""Placements: named rows of pages, who sees which variant, what was shown, and what came of it."""
