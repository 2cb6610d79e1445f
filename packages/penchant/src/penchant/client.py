"""The client under the name that it had before it was a package of its own, `penchant_client`: the extra ``client``."""

from penchant_client import *  # noqa: F403  # all of it
