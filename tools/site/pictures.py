"""Writes the pictures of the docs, docs/pictures/*.svg: `make pictures`.

With --check it writes nothing, and exits with 1 if a file is not what it would write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from . import data_way, fused_chain, orders

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"

PICTURES: dict[str, Callable[[], str]] = {
    "data-way.svg": data_way.drawn,
    "orders.svg": orders.drawn,
    "fused-chain.svg": fused_chain.drawn,
}


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    wrong = []
    for name, drawn in PICTURES.items():
        path, text = FOLDER / name, drawn()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            wrong.append(name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if wrong and "--check" in sys.argv:
        print(f"docs/pictures: {', '.join(wrong)}: not as drawn; run `make pictures`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
