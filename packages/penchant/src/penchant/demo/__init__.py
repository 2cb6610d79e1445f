"""The catalogues that ship with the project, as files; the command ``penchant demo`` loads them."""
