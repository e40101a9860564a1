"""Lock files, which never follow a link."""

from __future__ import annotations

import errno
import fcntl
import os
import stat


def open_lock(path: str | os.PathLike[str]) -> int:
    """Opens a lock file, which is made if it is not there; its content is left as it is.

    Returns:
        A descriptor, which the caller closes.

    Raises:
        OSError: The file cannot be made, or something else is in its place, such as a link: with it
            another user could choose a file that this process makes or locks.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK | os.O_NOFOLLOW
    try:
        number = os.open(path, flags, 0o666)
    except OSError as failure:
        if failure.errno != errno.ELOOP:
            raise
        raise _no_lock(path, "a link") from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise _no_lock(path, "no file")
    return number


def try_lock(number: int, path: str | os.PathLike[str]) -> bool:
    """Locks a file of open_lock(), without waiting.

    Returns:
        Whether the lock is valid.  False: the former holder has removed the file, and others may
        lock a new file; close this file, and open the lock again.

    Raises:
        BlockingIOError: Another process has the lock.
        OSError: Files cannot be locked there.
    """
    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        return os.path.samestat(os.fstat(number), os.lstat(path))
    except FileNotFoundError:
        return False


def _no_lock(path: str | os.PathLike[str], what: str) -> OSError:
    return OSError(errno.ELOOP, f"{what} is in the place of the lock {os.fspath(path)}; remove it")
