"""Decimal literals: bit for bit what float() makes of them, and a clear error for all else."""

from __future__ import annotations

import locale
import pathlib
import random
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from support.oracle import fewer

import pyflowdata as flow

HARD = [
    "0", "-0", "+0.0", "-0.0e5", "0e999999999999", "00000000000000000000", "1.", ".5",
    "+.5e1", "-5.E+3", "1E5", "1e+05", "1e-05", "000000000000000000000000001.50",
    "0.000000000000000000000000000015",
    "9007199254740991", "9007199254740993", "9007199254740993.0000000000000000000000001",
    "9007199254740992.9999999999999999999999999", "18446744073709551615", "18446744073709551616",
    "9999999999999999999", "99999999999999999999", "1e22", "1e23", "8.5e22", "1e-22", "1e-23",
    "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e308", "1e309",
    "2.2250738585072014e-308", "2.2250738585072011e-308", "4.9e-324", "2.4703282292062327e-324",
    "2.4703282292062328e-324", "1e-400", "-1e-400", "1e400", "-1e400", "1e-343",
    "1e99999999999999999999", "-1e-99999999999999999999", "0.000e400",
    "6.631236871469758276785396630275672e-3",
    "inf", "-inf", "+inf", "INF", "Infinity", "-iNfInItY", "+INFINITY", "nan", "-nan", "+NaN",
    "1" + "0" * 400 + "e-400", "0." + "0" * 400 + "1e401", "1" + "0" * 100_000 + "e-100000",
    "0." + "0" * 100_000 + "7e100001", "3" * 100_000, "-0." + "3" * 100_000, "0." + "9" * 100_000,
]  # fmt: skip


def read_numbers(folder: pathlib.Path, texts: list[str]) -> np.ndarray:
    """What MiniReader makes of an even number of literals; float64 of shape (len(texts),)."""
    assert len(texts) % 2 == 0
    lines = map(",".join, zip(texts[0::2], texts[1::2]))
    (folder / "part-000").write_text("\n".join(lines), encoding="ascii")
    rows = flow.MiniReader(str(folder), batch_size=65536, part_name_suffix_length=3)
    with flow.DataLoader(rows) as loader:
        return np.concatenate([np.array(batch) for batch in loader]).reshape(-1)


def check(folder: pathlib.Path, texts: list[str]) -> None:
    """Every literal becomes the same 64 bits as by float(); a nan's sign counts as well."""
    texts = texts + ["1"] * (len(texts) % 2)
    found = read_numbers(folder, texts)
    expected = np.array([float(text) for text in texts])
    assert found.shape == expected.shape
    wrong = np.flatnonzero(found.view(np.uint64) != expected.view(np.uint64))
    shown = [(texts[i][:80], float(found[i]).hex(), float(expected[i]).hex()) for i in wrong[:5]]
    assert not len(wrong), f"{len(wrong)} of {len(texts)} differ (text, found, expected): {shown}"


def random_doubles(count: int, seed: int) -> list[float]:
    """Finite doubles with all bit patterns equally likely."""
    bits = np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)
    values = bits.view(np.float64)
    return values[np.isfinite(values)].tolist()


def random_digits(source: random.Random, most: int) -> str:
    """1 to `most` digits, leading zeros among them."""
    count = source.randrange(1, most + 1)
    return f"{source.randrange(10**count):0{count}d}"


def short_decimals(source: random.Random) -> Iterator[str]:
    for _ in range(fewer(100_000)):
        yield f"{source.uniform(-1000, 1000):.3f}"


def shortest_of_unit_interval(source: random.Random) -> Iterator[str]:
    for _ in range(fewer(100_000)):
        yield repr(source.random())


def shortest_of_all_doubles(source: random.Random) -> Iterator[str]:
    yield from map(repr, random_doubles(fewer(120_000), 1))


def rounded_to_0_to_24_places(source: random.Random) -> Iterator[str]:
    for i, value in enumerate(random_doubles(fewer(80_000), 2)):
        yield f"{value:.{i % 25}e}"


def digits_and_exponent(source: random.Random) -> Iterator[str]:
    for _ in range(fewer(100_000)):
        yield f"{random_digits(source, 19)}e{source.randrange(-350, 320)}"


def seventeen_to_25_digits(source: random.Random) -> Iterator[str]:
    for _ in range(fewer(75_000)):
        digits = str(source.randrange(10**16, 10 ** source.randrange(17, 26)))
        point = source.randrange(len(digits) + 1)
        yield f"{digits[:point]}.{digits[point:]}E{source.randrange(-30, 30):+03d}"


def subnormals(source: random.Random) -> Iterator[str]:
    for _ in range(fewer(75_000)):
        digits = f"{source.randrange(1, 10)}.{random_digits(source, 18)}"
        yield f"-{digits}e-{source.randrange(305, 326)}"


def forms_of_writing(source: random.Random) -> Iterator[str]:
    for _ in range(fewer(75_000)):
        sign = source.choice(["", "+", "-"])
        zeros = "0" * source.choice([0, 0, 1, 5, 30])
        whole, fraction = random_digits(source, 8), random_digits(source, 8)
        number = source.choice([whole, f"{whole}.", f".{fraction}", f"{whole}.{fraction}"])
        zeros = "" if number.startswith(".") else zeros
        exponent = source.choice(["", "e5", "E-5", "e+0005", f"e{source.randrange(-400, 400)}"])
        yield sign + zeros + number + exponent


STYLES = [
    short_decimals, shortest_of_unit_interval, shortest_of_all_doubles, rounded_to_0_to_24_places,
    digits_and_exponent, seventeen_to_25_digits, subnormals, forms_of_writing,
]  # fmt: skip


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
def test_generated_literals(
    tmp_path: pathlib.Path, style: Callable[[random.Random], Iterator[str]]
) -> None:
    check(tmp_path, list(style(random.Random(7))))


def test_hard_literals(tmp_path: pathlib.Path) -> None:
    check(tmp_path, HARD)


def halfway_points(count: int) -> Iterator[tuple[int, int]]:
    """Midpoints between neighbouring doubles, as (digits, power of ten), exactly."""
    source = random.Random(11)
    for i in range(count):
        bits = source.getrandbits(52 if i % 4 == 0 else 62)  # a quarter is subnormal
        low, high = struct.unpack("<2d", struct.pack("<2Q", bits, bits + 1))
        if high == float("inf"):
            continue
        middle = (Fraction(low) + Fraction(high)) / 2
        places = middle.denominator.bit_length() - 1  # the denominator is a power of two
        yield middle.numerator * 5**places, -places


def test_halfway_points(tmp_path: pathlib.Path) -> None:
    """Ties go to the even neighbour, and any digit behind, however far, decides a tie."""
    texts = []
    lengths = set()
    for digits, power in halfway_points(fewer(2000)):
        lengths.add(len(str(digits)))
        for gap in (0, 3, 30, 900):
            texts.append(f"{digits}{'0' * gap}1e{power - gap - 1}")
            texts.append(f"{digits - 1}{'9' * (gap + 1)}e{power - gap - 1}")
        texts.append(f"{digits}e{power}")
        texts.append(f"{str(digits)[0]}.{str(digits)[1:]}0e{power + len(str(digits)) - 1}")
    assert min(lengths) < 100 and max(lengths) > 700
    check(tmp_path, texts)


def test_short_ties(tmp_path: pathlib.Path) -> None:
    """Ties of at most 19 digits, where the table of powers is exact; Fraction is the oracle."""
    source = random.Random(13)
    texts = []
    while len(texts) < fewer(48_000):
        odd = 2**53 + 2 * source.getrandbits(52) + 1
        power = source.randrange(-4, 24)
        digits = odd * 5**-power if power < 0 else (odd // 5**power | 1) << source.randrange(8)
        if 0 < digits < 10**20:
            texts.append(f"{digits}e{power}")
    found = read_numbers(tmp_path, texts)
    for text, value in zip(texts, found.tolist()):
        digits, power = map(int, text.split("e"))
        exact = Fraction(digits) * Fraction(10) ** power
        assert value == exact.numerator / exact.denominator, text


def test_ten_million_digits(tmp_path: pathlib.Path) -> None:
    count = 10_000_000
    zeros = "0" * count
    texts = ["0." + "3" * count, f"1{zeros}e-{count}", "7" * count, f"0.{zeros}5e{count}"]
    found = read_numbers(tmp_path, texts)
    assert found.tolist() == [1 / 3, 1.0, float("inf"), 0.5]


def test_blanks_around_numbers(tmp_path: pathlib.Path) -> None:
    found = read_numbers(tmp_path, [" 1.5", "\t-2 ", "3 \t", " \t4e0\t ", "5\t", "6"])
    assert found.tolist() == [1.5, -2.0, 3.0, 4.0, 5.0, 6.0]


def set_comma_locale(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Makes LC_NUMERIC one with a decimal comma: an installed locale, else one compiled here."""
    names = ["de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8", "pt_BR.UTF-8", "ru_RU.UTF-8"]
    if shutil.which("localedef"):
        made = folder / "made_DE.ISO-8859-1"  # UTF-8 takes a second
        subprocess.run(["localedef", "-i", "de_DE", "-f", "ISO-8859-1", made], capture_output=True)
        names += [made.name]
    for name in names:
        if name.startswith("made_"):
            monkeypatch.setenv("LOCPATH", str(folder))
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
        if locale.localeconv()["decimal_point"] == ",":
            return True
    return False


@pytest.mark.slow
def test_locale_with_comma(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        if not set_comma_locale(tmp_path, monkeypatch):
            pytest.skip("no locale with a decimal comma here, and none could be made (localedef)")
        check(tmp_path, ["1.5", "-123.456e10", "9007199254740993." + "0" * 50 + "1", *HARD])
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


# The line, the index of the first byte that cannot be used, and the text that the message shows.
BAD = [
    (b"1e,2", 1, "'e'"),
    (b"1e+,2", 1, "'e'"),
    (b"3,4e-", 3, "'e'"),
    (b".,2", 0, "'.'"),
    (b"-.e5,2", 0, "'-.e5'"),
    (b"--1,2", 0, "'--1'"),
    (b"+-1,2", 0, "'+-1'"),
    (b"- 1,2", 0, "'- 1'"),
    (b"1,2,3", 3, "comma"),
    (b"1,2,", 3, "comma"),
    (b"1", 1, "end of the line"),
    (b"1,", 2, "end of the line"),
    (b",2", 0, "empty"),
    (b",", 0, "empty"),
    (b"1 2,3", 2, "'2'"),
    (b"1;2", 1, "';'"),
    (b"1.2.3,4", 3, "'.'"),
    (b"1,2 x", 4, "'x'"),
    (b"0x10,2", 1, "'x'"),
    (b"1_000,2", 1, "'_'"),
    (b"1,2f", 3, "'f'"),
    (b"infin,2", 3, "'i'"),
    (b"in,2", 0, "'in'"),
    (b"nan(1),2", 3, "'('"),
    (b"1\0,2", 1, r"\x00"),
    (b"\0,2", 0, r"\x00"),
    ("é,2".encode(), 0, r"\xc3\xa9"),
    ("1,½".encode(), 2, r"\xc2\xbd"),
    ("١,2".encode(), 0, r"\xd9\xa1"),  # float() takes digits of other scripts; files hold ASCII
    (b"\xef\xbb\xbf1,2", 0, r"\xef\xbb\xbf"),
    (b"1,\xff", 2, r"\xff"),
    (b'"1","2"', 0, "'\"1\"'"),
    (b"None,2", 0, "'None'"),
    (b"x" * 10_000_000, 0, "'xxxx"),
    (b"1," + b"9" * 10_000_000 + b"!", 10_000_002, "'!'"),
]


@pytest.mark.parametrize("line, byte, text", BAD, ids=[repr(line[:12]) for line, _, _ in BAD])
def test_bad_line(tmp_path: pathlib.Path, line: bytes, byte: int, text: str) -> None:
    good = b"1.5,2.5\n\n-3,4e5\n"
    (tmp_path / "part-000").write_bytes(good + line + b"\n5,6\n")
    rows = flow.MiniReader(str(tmp_path), batch_size=8, part_name_suffix_length=3)
    with flow.DataLoader(rows) as loader, pytest.raises(flow.CorruptDataError) as raised:
        list(loader)
    error = raised.value
    assert error.op == "MiniReader"
    assert error.file == str(tmp_path / "part-000")
    assert error.line == 4
    assert error.byte == len(good) + byte
    assert error.ordinal == 2
    message = str(error)
    assert f"{tmp_path / 'part-000'}:4 (byte {len(good) + byte})" in message
    assert text in message
    assert "two numbers" in message
    assert message.isprintable() and len(message) < 1000
