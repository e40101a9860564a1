#!/usr/bin/env python3
"""Writes csrc/parse/power_of_five.h, the table of csrc/parse/parse_double.c.

    python3 tools/make_power_of_five.py            write the file
    python3 tools/make_power_of_five.py --check    exit with 1 when the file is out of date
"""

from __future__ import annotations

import argparse
import pathlib
import sys

HEADER = pathlib.Path(__file__).resolve().parent.parent / "csrc" / "parse" / "power_of_five.h"

# Below 1e-342 every mantissa of 64 bits rounds to zero, above 1e308 to infinity.
LEAST, MOST = -342, 308

INTRODUCTION = """\
/* parse/power_of_five.h -- the first 128 bits of powers of five.  Written by
 * tools/make_power_of_five.py; do not edit.
 *
 * Row q - PFD_LEAST_POWER holds the high and the low word of 5^q, scaled by a power of two into
 * [2^127, 2^128) and rounded down; up for -27 <= q < 0, where a product with a mantissa can be
 * exact and would else fall just below.
 */
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
    """The whole text of the header."""
    lines = [
        INTRODUCTION.rstrip("\n"),
        "#ifndef PFD_PARSE_POWER_OF_FIVE_H",
        "#define PFD_PARSE_POWER_OF_FIVE_H",
        "#include <stdint.h>",
        "",
        f"#define PFD_LEAST_POWER ({LEAST})",
        f"#define PFD_MOST_POWER {MOST}",
        "",
        f"static const uint64_t pfd_power_of_five[{MOST - LEAST + 1}][2] = {{",
    ]
    for power in range(LEAST, MOST + 1):
        high, low = divmod(first_128_bits(power), 2**64)
        lines.append(f"    {{0x{high:016x}u, 0x{low:016x}u}}, /* {power} */")
    lines += ["};", "", "#endif"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes or checks; the exit code of the process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    arguments = parser.parse_args()
    if not arguments.check:
        HEADER.write_text(table(), encoding="ascii")
        return 0
    if HEADER.exists() and HEADER.read_text(encoding="ascii") == table():
        return 0
    print(f"{HEADER} is not what {pathlib.Path(__file__).name} writes: run it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
