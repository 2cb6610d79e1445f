"""Rows of pages at the desk: their forms, results, cards and proposals."""
