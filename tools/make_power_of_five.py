#!/usr/bin/env python3
"""Writes csrc/parse/power_of_five.c, the table of number_text.c.

    python3 tools/make_power_of_five.py            write the file
    python3 tools/make_power_of_five.py --check    exit with 1 when the file is out of date
"""

from __future__ import annotations

import argparse
import pathlib
import sys

TABLE = pathlib.Path(__file__).resolve().parent.parent / "csrc" / "parse" / "power_of_five.c"

# As power_of_five.h: numbers are read from 1e-342 on, and the least double is printed with 10**324.
LEAST, MOST = -342, 324

INTRODUCTION = """\
/* The table of power_of_five.h.  Written by tools/make_power_of_five.py; do not edit. */
#include "parse/power_of_five.h"
"""


def first_128_bits(power: int) -> int:
    """5**power scaled by a power of two into [2**127, 2**128)."""
    if power >= 0:
        value = 5**power
        shift = 128 - value.bit_length()
        return value << shift if shift >= 0 else value >> -shift
    value = 5**-power
    return 2 ** (127 + value.bit_length()) // value + (power >= -27)


def table() -> str:
    """The whole text of the file."""
    lines = [
        INTRODUCTION,
        "const uint64_t pfd_power_of_five[PFD_MOST_POWER - PFD_LEAST_POWER + 1][2] = {",
    ]
    for power in range(LEAST, MOST + 1):
        high, low = divmod(first_128_bits(power), 2**64)
        lines.append(f"    {{0x{high:016x}u, 0x{low:016x}u}}, /* {power} */")
    lines.append("};")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes or checks; the exit code of the process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    arguments = parser.parse_args()
    if not arguments.check:
        TABLE.write_text(table(), encoding="ascii")
        return 0
    if TABLE.exists() and TABLE.read_text(encoding="ascii") == table():
        return 0
    print(f"{TABLE} is not what {pathlib.Path(__file__).name} writes: run it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
