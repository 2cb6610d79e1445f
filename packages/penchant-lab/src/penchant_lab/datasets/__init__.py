"""Data sets of research by name: what reads their files as they are published, and what options each takes."""

from collections.abc import Mapping

from penchant_import.formats import ANY_TABLE, TABLE, Reader
from penchant_lab.datasets import films, ratings

DATASETS: Mapping[str, Reader] = {
    "movielens": ratings.read_movielens,
    "goodbooks": ratings.read_goodbooks,
    "recbole": ratings.read_recbole,
    "imdb": films.read_imdb,
    "tmdb": films.read_tmdb,
}
OPTIONS: Mapping[str, str] = {
    "movielens": "rating_scale time_format without_times",
    "goodbooks": "rating_scale",
    "recbole": f"{ANY_TABLE} {TABLE} columns",
    "imdb": "",
    "tmdb": TABLE,
}
"""What of `ImportOptions` each uses."""
