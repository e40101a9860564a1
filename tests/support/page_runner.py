"""Runs the blocks of a page in a folder, and says where one fails or prints something else."""

from __future__ import annotations

import glob
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyflowdata as flow
from support.installed import is_installed
from support.paths import ROOT
from tools.page_blocks import Block

_SHELL = set("|&;<>$`\\(){}~#!\n")


class PageProcess:
    """tests/support/page_process.py, started once for the pages of a process of pytest.

    It imports the packages of the tree `root`, as if wheels had installed them, and nothing else
    of the tree.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self._packages = tempfile.TemporaryDirectory()
        for name in ("pyflowdata", "pyflowdata_kit", "pyflowdata_kit.egg-info", "csrc"):
            Path(self._packages.name, name).symlink_to(root / name)
        self.environment = {**os.environ, "PYTHONPATH": self._packages.name}
        self._process = subprocess.Popen(
            [sys.executable, ROOT / "tests/support/page_process.py", self._packages.name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment,
        )  # fmt: skip

    def __call__(self, do: str, **order: object) -> int:
        assert self._process.stdin and self._process.stdout
        print(json.dumps({"do": do, **order}), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def command(self, folder: Path, *arguments: object) -> tuple[int, str]:
        """The status of `pyflowdata ARGUMENTS` in the folder, and what it prints, errors last."""
        with tempfile.TemporaryDirectory() as scratch:
            output = Path(scratch, "output")
            given = [str(one) for one in arguments]
            status = self(
                "command", arguments=given, folder=str(folder), output=str(output)
            )
            return status, _text(output) + _text(Path(f"{output}.err"))

    def close(self) -> None:
        self._process.communicate()
        self._packages.cleanup()


def run_page(process: PageProcess, blocks: list[Block], folder: Path) -> None:
    """Runs a page in the new folder `page` of this one, which is empty.

    Raises:
        AssertionError: A block fails or prints otherwise; it has the line of the page.
    """
    work, outputs = folder / "page", (folder / f"output-{i}" for i in itertools.count())
    work.mkdir()
    process("open", folder=str(work))
    try:
        for block in blocks:
            if block.title:
                (work / block.title).parent.mkdir(parents=True, exist_ok=True)
                (work / block.title).write_text(block.text)
            elif block.language == "c":
                _check_c(block, folder)
            elif block.runs and all(map(is_installed, block.needs)):
                output = next(outputs)
                _run_block(process, block, work, output)
                _compare(block, _text(output), _text(Path(f"{output}.err")))
    finally:
        status = process("close")
    assert status == 0, f"{blocks[0].page}: the process of its code ends with {status}"


def _run_block(process: PageProcess, block: Block, work: Path, output: Path) -> None:
    if block.language == "python":
        code, name = block.at_its_line(), str(ROOT / block.page)
        status = process("python", code=code, name=name, output=str(output))
        assert status == 0, f"{block.where}: {_text(Path(f'{output}.err'))}"
        return
    for command in _commands(block.text):
        arguments = _arguments_of_cli(command, work)
        if arguments is None:
            status = _run_shell(process, command, work, output)
        else:
            status = process("command", arguments=arguments, folder=str(work), output=str(output))
        failed = f"{block.where}: {command} ends with {status}\n{_text(output)}"
        assert status == int(block.marks.get("exits with", 0)), (
            failed + _text(Path(f"{output}.err"))
        )


def _commands(text: str) -> Iterator[str]:
    """The commands of a block: those of the library one by one, others together in one shell."""
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    if all(line.startswith("pyflowdata ") for line in lines):
        yield from lines
    else:
        yield text


def _arguments_of_cli(command: str, work: Path) -> list[str] | None:
    """What a shell makes of `pyflowdata ...`, or None where it takes a shell."""
    command = command.partition("  #")[0]
    if not command.startswith("pyflowdata ") or _SHELL & set(command.replace("{shard", "")) - {"}"}:
        return None
    arguments = []
    for word in shlex.split(command, posix=False)[1:]:
        found = [] if word[0] in "'\"" else glob.glob(word, root_dir=work)
        arguments += sorted(found) or shlex.split(word)
    return arguments


def _run_shell(process: PageProcess, script: str, work: Path, output: Path) -> int:
    programs = work.parent / "bin"
    if not programs.exists():
        programs.mkdir()
        for name, arguments in (("python", ""), ("python3", ""), ("pyflowdata", "-m pyflowdata")):
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
            (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    with open(output, "ab") as printed, open(f"{output}.err", "ab") as said:
        return subprocess.run(
            ["sh", "-ec", script], cwd=work, stdin=subprocess.DEVNULL, stdout=printed, stderr=said,
            timeout=120, env={**process.environment, "PATH": path},
        ).returncode  # fmt: skip


def _check_c(block: Block, folder: Path) -> None:
    """A whole plugin compiles; fragments are those of files that other tests compile."""
    if "#include" not in block.text or "PFD_PLUGIN" not in block.text or "not run" in block.marks:
        return
    source = folder / "block.c"
    source.write_text(block.text)
    flags = "-std=c11 -fsyntax-only -Wall -Wextra -Werror -I".split()
    done = subprocess.run(
        [*os.environ.get("CC", "cc").split(), *flags, flow.include_dir(), source],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{block.where}: {done.stderr}"


def _compare(block: Block, printed: str, said: str) -> None:
    shown = block.prints.text if block.prints else None
    if shown is not None and block.prints and "varies" not in block.prints.marks:
        found = printed or said
        assert _matches(shown, found), (
            f"{block.where} prints\n{found}and the page shows\n{shown}"
        )
    if "prints its comments" in block.marks:
        comments = re.findall(r"^ *print\(.*?\)  +# ?(.*)$", block.text, re.M)
        assert comments and printed.splitlines() == [one.strip() for one in comments], (
            f"{block.where} prints\n{printed}and its comments say {comments}"
        )
    warned = [line for line in said.splitlines() if "Warning: " in line]
    ours = any("site-packages" not in line for line in warned)
    assert not ours or "Warning: " in (shown or ""), f"{block.where}: {said}"


def _matches(shown: str, printed: str) -> bool:
    """A line "…" of the page stands for any lines."""
    parts = map(re.escape, shown.split("…\n"))
    return re.fullmatch(".*".join(parts), printed, re.S) is not None


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
