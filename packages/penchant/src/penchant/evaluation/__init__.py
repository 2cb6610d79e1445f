"""Evaluation: held-out interactions, what methods make of the rest, and settings that do better.

It opens no file and no database. Whoever calls it reads the history and shows the report.
"""
