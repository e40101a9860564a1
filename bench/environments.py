"""A virtual environment for each peer, made from the pinned requirements beside its file."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from bench.programs import BUILD

PEERS = Path(__file__).resolve().parent / "peers"
OURS = "pyflowdata"
LIMITS = "limits"
ALWAYS = (OURS, LIMITS)  # in every run


def all_peers() -> list[str]:
    names = {path.stem for path in PEERS.glob("*.py")} - {"__init__", *ALWAYS}
    return sorted(names)


def _pins(peer: str) -> str:
    path = PEERS / f"{peer}.txt"
    return path.read_text() if path.exists() else ""


def interpreter(peer: str) -> tuple[str | None, str]:
    """The Python of a peer, or None and why there is none.  Without pins it is this one."""
    pins = _pins(peer)
    if not pins:
        return sys.executable, ""
    folder = BUILD / f"venv-{peer}"
    python, mark = folder / "bin" / "python", folder / "pins"
    wanted = hashlib.sha256(pins.encode()).hexdigest()
    if mark.exists() and mark.read_text() == wanted:
        return str(python), ""
    print(f"making the environment of {peer}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*install, "-r", str(PEERS / f"{peer}.txt")], capture_output=True, text=True
    )
    if done.returncode != 0:
        return None, done.stderr.strip()[-500:]
    mark.write_text(wanted)
    return str(python), ""


def versions(peers: list[str]) -> str:
    """All pinned versions, each once."""
    pins = {line for peer in peers for line in _pins(peer).split()}
    return ", ".join(pin.replace("==", " ") for pin in sorted(pins)) or "no peers with pins"
