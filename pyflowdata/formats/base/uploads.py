"""Files that are made on the local disk, and put into a store when all of them are whole."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import FileError, InvalidArgumentError, shown
from ...native import lib
from ...nodes.registry import registered_formats
from ... import remote
from ...remote import is_remote
from .detection import kind_of
from .output import Names, remove


class Upload:
    """The files for an address, which are first made in a local folder. An object appears whole or
    not at all.  If one of several cannot be stored, the objects of this upload that replaced
    nothing are removed again.

    Attributes:
        path: The path in the local folder that stands for the address.
    """

    def __init__(self, url: str, *, goes_on: bool = False) -> None:
        """Makes the folder.

        Args:
            url: The address of a file, a pattern of shards, or a folder.
            goes_on: Whether the folder is that of an earlier upload to the address, if there is
                one, and outlives a failure.

        Raises:
            UnsupportedError: Files cannot be written to its store.
            InvalidArgumentError: The address is a pattern of files to read.
            FileError: The folder cannot be made.
        """
        import hashlib  # for addresses alone
        import tempfile

        remote.client.check_takes(url)
        if remote.client.has_magic(url):
            raise InvalidArgumentError(f"path = {shown(url)}; a file cannot have *, ? or [ in its "
                                       "address, as patterns have these")
        self.url = url
        self._below, _, name = url.rstrip("/").rpartition("/")
        self._goes_on, self._process = goes_on, os.getpid()
        base = remote.staging_folder()
        if goes_on:
            self._folder = Path(base, hashlib.sha256(url.encode()).hexdigest()[:32])
            self._folder.mkdir(mode=0o700, exist_ok=True)
            for left in self._folder.glob("[!.]*"):  # of an upload that was killed
                remove(left)
        else:
            self._folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=base))
        self.path = self._folder / name

    def path_as(self, given: str) -> str:
        """`path`, with a slash at its end if the given address has one."""
        return f"{self.path}/" if given.endswith("/") else str(self.path)

    def present(self, names: Names) -> list[str]:
        """The existing addresses of files with such names in the store."""
        if not names.is_sharded:
            urls = [f"{self._below}/{path.name}" for path in names.of(0, 1)]
            return [url for url in urls if kind_of(url) != lib.PFD_PATH_MISSING]
        found = remote.client.listed(f"{self._below}/*")
        return [url for url in found if names.are(url.rpartition("/")[2])]

    def refuse_present(self, names: Names, overwrite: bool, remedy: str) -> list[str]:
        """Those that are replaced.

        Raises:
            FileError: There are some, and none may be replaced.
        """
        found = self.present(names)
        if found and not overwrite:
            raise FileError(f"it is there already; remove it, or say {remedy}", file=found[0])
        return found

    def send(self, replaced: list[str]) -> list[str]:
        """Puts all files of the folder into the store, and removes the folder.

        Args:
            replaced: Existing addresses; those that are not replaced are removed.

        Returns:
            The addresses of the files in the folder.
        """
        old = set(replaced)
        for url in replaced:
            if kind_of(url) == lib.PFD_PATH_FOLDER:
                old |= set(remote.client.listed(f"{url}/**"))
        whole = {one.folder_file for one in registered_formats()}
        files = [path for path in self._folder.rglob("*") if path.is_file()]
        # Who finds the file that makes a folder a data set finds all others.
        files.sort(key=lambda path: (path.name in whole, path))
        sent: list[str] = []
        try:
            for path in files:
                url = f"{self._below}/{path.relative_to(self._folder)}"
                remote.client.put(path, url)
                sent.append(url)
        except BaseException:
            remote.client.remove_objects([url for url in sent if url not in old])
            remove(self._folder)
            raise
        remote.client.remove_objects(sorted(old - set(sent) - set(replaced)) + [
            url for url in replaced
            if url not in sent and kind_of(url) == lib.PFD_PATH_FILE
        ])  # fmt: skip
        names = sorted(path.name for path in self._folder.iterdir())
        remove(self._folder)
        return [f"{self._below}/{name}" for name in names]

    def discard(self) -> None:
        """Removes the folder, without an error.  A forked child leaves it alone."""
        if not self._goes_on and os.getpid() == self._process:
            import shutil

            shutil.rmtree(self._folder, ignore_errors=True)


def upload_of(path: str | os.PathLike[str], *, goes_on: bool = False) -> Upload | None:
    """The upload of an address; None: the path is a local one."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else path
    if not isinstance(text, str) or not is_remote(text):
        return None
    return Upload(text, goes_on=goes_on)
