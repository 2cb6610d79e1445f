"""Fixtures of the tests of the lab: a folder whose files are read as data sets of research."""

from dataset_folders import folder
from import_folders import field_limit, storage, target

__all__ = ["field_limit", "folder", "storage", "target"]
