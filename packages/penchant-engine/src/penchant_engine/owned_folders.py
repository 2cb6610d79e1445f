"""Owned folders: whether what lies in a folder can have been put there by this user and root alone; whole files there.

What a process finds in such a folder it may believe: plans that say what to run, machine code, how far an import is.
Nobody else may write it, nor a folder above, since who writes those can put another folder in its place. In a sticky
folder, such as /tmp, nobody can: there it is enough that the next one below is ours.
"""

import contextlib
import functools
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def alien_part(folder: Path) -> Path | None:
    """Return the folder, or the one above it, that somebody else could write or replace; ``None`` where none is.

    ``folder`` is there, and without symbolic links (`Path.resolve`). Access lists beyond owner and mode are not seen.

    Raises:
        OSError: one of them cannot be looked at.
    """
    for below, part in zip((None, folder, *folder.parents), (folder, *folder.parents), strict=False):
        status = part.lstat()
        # Whether or not it is sticky: in the folder itself others could make files, under names that are looked for.
        is_sticky = below is not None and bool(status.st_mode & stat.S_ISVTX)
        if status.st_uid not in {os.geteuid(), 0} or (is_writable_by_others(status) and not is_sticky):
            return part
    return None


def is_writable_by_others(status: os.stat_result) -> bool:
    """Return whether the mode of a file lets somebody write it who is neither its owner nor root."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_own_group(status.st_gid)


def own_folder(folder: Path) -> Path:
    """Return a folder, made where it is missing, without symbolic links, once nobody else can write or replace it.

    Links that lead to it are followed; it is none itself, since what is done to a folder could be meant for another.

    Raises:
        PermissionError: somebody else can; the message says where, and what to do.
        OSError: it cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    real = folder.parent.resolve(strict=True) / folder.name
    alien = alien_part(real)
    if alien is not None:
        raise PermissionError(f"others can write {alien}, or it is theirs: use a folder of your own")
    return real


def sync(path: Path) -> None:
    """Have a file's bytes, or a folder's names, on the disk.

    Raises:
        OSError: it cannot be opened to be read, or the disk fails.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder for its owner only, and those above that are missing, so that power can be cut and it is there.

    Raises:
        OSError: it cannot be made.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in missing:
        # What is synced in a folder is worth nothing without the folder's own name.
        sync(each.parent)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file that is ``path`` at the end, synced: a crash leaves the former file or the new one, and no half.

    Until then it lies beside, with ``.new`` at the end of its name; what another try has left there is removed. Who
    may read it is for the umask to say.
    """
    written = path.with_name(path.name + ".new")
    written.unlink(missing_ok=True)
    # No link is followed: the file may lie among those of others.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(written, flags, 0o666), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        written.replace(path)
    except OSError as error:
        # Half a file would keep the room that is missing; and to write names no file.
        written.unlink(missing_ok=True)
        error.filename = error.filename or str(path)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Write a file as `whole_file`."""
    with whole_file(path) as file:
        file.write(content)


@functools.lru_cache(maxsize=64)
def _is_own_group(group: int) -> bool:
    """Return whether nobody but this user and root is in a group, as far as this machine knows people.

    Many systems give each user such a group, and clusters one to each volume.
    """
    if group not in {os.getegid(), *os.getgroups()}:
        return group == 0
    return set(_members(group)) <= {os.geteuid(), 0}


def _members(group: int) -> Iterator[int]:
    try:
        names = set(grp.getgrgid(group).gr_mem)
    except KeyError:
        names = set()
    return (each.pw_uid for each in pwd.getpwall() if each.pw_gid == group or each.pw_name in names)
