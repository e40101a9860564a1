"""The samples of the kit: findings about poor samples, and the copies that it makes."""

import struct

import pytest
from box_samples import box_file, write_box_samples, write_indexed_samples
from faulty_plugins import FOLDER, compiled

from pyflowdata import testing
from pyflowdata_kit.damaged_copies import KINDS
from pyflowdata_kit.file_layout import Layout, Span, file_of_each_kind, files_like
from pyflowdata_kit.checks.large import growths, write_sparse
from pyflowdata_kit.checks.many import repetitions
from pyflowdata_kit.spec import Spec


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """Runs some groups over a folder, by a reader without a fault."""

    def run(folder, *groups, name="good_wide", **options):
        library = compiled(FOLDER / f"{name}.c", tmp_path_factory.getbasetemp())
        box = Spec("BoxReader", attrs={"data_dir": str(folder)})
        return testing.run_checks(box, [library], groups=groups, checksums=True, **options)

    return run


def poor(report):
    return [finding.text for finding in report.findings if finding.id == "sample-poor"]


# ---- Kinds of files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "last"),
    [
        (["part-0", "part-9", "part-10", "index"], ["part-10", "index"]),
        (["a.bin", "a.idx", "b.bin", "b.idx"], ["b.bin", "b.idx"]),
        (["x.0001-of-0002", "x.0002-of-0002"], ["x.0002-of-0002"]),
        (["train.tar.gz", "test.tar.gz", "test.tar"], ["test.tar.gz", "test.tar"]),
    ],
)
def test_numbers_make_no_kinds_of_files(names, last, tmp_path):
    files = [tmp_path / name for name in names]
    for file in files:
        file.write_bytes(b"bytes")
    found = file_of_each_kind(files)
    assert [file.name for file in found] == last
    assert sorted(sum((files_like(file, files) for file in found), [])) == sorted(files)


# ---- Poor samples -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ([[b"one"]], "the sample has only one record, records in one file alone: add"),
        ([[b"same", b"size"], [b"here"]], "the sample has records of one size alone (8 bytes): "),
        (
            [[b"five!"], [b"longest"]],
            "no empty record (the shortest has 9 bytes), no record longer than a page, 4096 bytes "
            "(the longest has 11): add",
        ),
        ([[b"", b"1234"], [b"12"]], "no record of an odd number of bytes, no record longer"),
    ],
)
def test_a_poor_sample_is_told(check, tmp_path, files, says):
    for part, payloads in enumerate(files):
        (tmp_path / f"part-{part}").write_bytes(box_file(payloads))
    report = check(tmp_path, "sample")
    assert report.passed
    (text,) = poor(report)
    assert says in text and text.endswith("(or ignore sample-poor)")


def test_sizes_that_a_format_seems_not_to_have_are_not_asked_for(check, tmp_path):
    for part in range(2):
        (tmp_path / f"part-{part}").write_bytes(box_file([b"four"] * 9))
    assert not poor(check(tmp_path, "sample"))
    (tmp_path / "part-1").write_bytes(box_file([b"", b"four", bytes(8), bytes(70_000)]))
    assert not poor(check(tmp_path, "sample"))


def test_further_samples_count(check, tmp_path):
    write_box_samples(tmp_path / "small")
    (tmp_path / "large").mkdir()
    (tmp_path / "large" / "part-0").write_bytes(box_file([bytes(70_000)]))
    assert poor(check(tmp_path / "small", "sample"))
    assert not poor(check(tmp_path / "small", "sample", also={str(tmp_path / "large"): 1}))


def test_a_further_sample_of_3_gb_is_read_at_both_ends(check, tmp_path):
    """Takes the time and memory of two records."""
    write_box_samples(tmp_path / "small")
    path = tmp_path / "large" / "part-0"
    path.parent.mkdir()
    whole, half = box_file([b"", b"", b""]), 3 << 29
    for offset, data in ((0, whole[:20]), (20, struct.pack("<I", half)), (24 + half, whole[28:])):
        with path.open("r+b" if offset else "wb") as file:
            file.seek(offset)
            file.write(data)
    assert check(tmp_path / "small", "sizes", also={str(path.parent): 3}).findings == []
    assert not check(tmp_path / "small", "sizes", also={str(path.parent): 4}).passed


# ---- Damage -------------------------------------------------------------------------------------


def test_every_kind_of_file_is_damaged_and_left_as_it_was(check, tmp_path):
    write_indexed_samples(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    report = check(tmp_path, "damage: flipped", "sizes", name="good_indexed")
    assert report.findings == []
    assert report.groups["damage: flipped"].endswith("; of part-1, part-1.idx, part-0, part-0.idx")
    assert report.groups["sizes"].endswith("; 2 companions missing")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_records_are_made_to_fail_in_a_file_that_has_some(check, tmp_path):
    write_box_samples(tmp_path)
    (tmp_path / "part-2").write_bytes(box_file([]))
    report = check(tmp_path, "failing records", name="leaks_on_damaged_row")
    assert "leaks-memory" in {finding.id for finding in report.faults}, report


def sized_records(data, unit):
    """The records of a file, each after its number of elements; None: they do not fill the file."""
    found, at = [], 0
    while at + 4 <= len(data):
        size = unit * int.from_bytes(data[at : at + 4], "little")
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found if at == len(data) else None


@pytest.mark.parametrize("unit", [1, 4])
@pytest.mark.parametrize("sizes", [(16, 16, 16, 16), (8, 4, 24, 16)])
def test_a_resized_record_has_the_length_that_stands_before_it(unit, sizes):
    records = [bytes(150 + i for i in range(size)) for size in sizes]
    data = b"".join((len(one) // unit).to_bytes(4, "little") + one for one in records)
    ends = [sum(sizes[: i + 1]) + 4 * (i + 1) for i in range(4)]
    spans = tuple(Span(i, end - size, size) for i, (end, size) in enumerate(zip(ends, sizes)))
    copies = KINDS["resized"](data, "f", Layout(spans))
    found = [sized_records(changed, unit) for changed, _ in copies]
    whole = [one for one in found if one is not None]
    assert {len(one) for one in whole} == {4}
    assert all(sum(a != b for a, b in zip(one, records)) == 1 for one in whole)
    last = {len(one[3]) for one in whole}
    assert last == {0, 8, 12, 16, 20, 32, 4112, *(() if unit == 4 else (15, 17))}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "resized"])
def test_each_record_of_a_long_file_is_damaged_at_head_middle_and_tail(kind):
    data = bytes(1 + i * 7 % 250 for i in range(40_000))
    layout = Layout(tuple(Span(i, 10_000 * i + 500, 9000) for i in range(4)))
    said = [doing for _, doing in KINDS[kind](data, "f", layout)]
    for part in ("head", "middle"):
        for record in range(4):
            assert any(f"the {part} of record {record}" in doing for doing in said), (part, record)
    assert len(set(said)) == len(said)


def test_a_place_is_named_by_the_record_that_is_there():
    layout = Layout((Span(3, 100, 30), Span(4, 138, 2)))
    named = {place: layout.words(place) for place in (91, 92, 103, 104, 129, 130, 138, 139, 140)}
    assert named == {
        91: "", 92: "the head of record 3", 103: "the head of record 3",
        104: "the middle of record 3", 129: "the tail of record 3", 130: "the head of record 4",
        138: "the head of record 4", 139: "the tail of record 4", 140: "",
    }  # fmt: skip


# ---- Large copies -------------------------------------------------------------------------------

PAYLOADS = [b"a", b"bcd", b"efghi", b"", b"jklmnop"]


def table_file(order):
    """Writes a table of offsets, and a length of 8 bytes before each payload; returns their
    places."""
    mark = "<" if order == "little" else ">"
    offset, spans, table, body = 8 + 4 * len(PAYLOADS), [], b"", b""
    for number, payload in enumerate(PAYLOADS):
        table += struct.pack(mark + "I", offset)
        body += struct.pack(mark + "Q", len(payload)) + payload
        spans.append(Span(number, offset + 8, len(payload)))
        offset += 8 + len(payload)
    return b"TABLE..." + table + body, Layout(tuple(spans))


def read_table(path, order):
    """The first bytes, the size and the place of each payload."""
    mark, found = ("<" if order == "little" else ">"), []
    with path.open("rb") as file:
        file.seek(8)
        offsets = struct.unpack(f"{mark}{len(PAYLOADS)}I", file.read(4 * len(PAYLOADS)))
        for offset, payload in zip(offsets, PAYLOADS):
            file.seek(offset)
            (size,) = struct.unpack(mark + "Q", file.read(8))
            found.append((file.read(len(payload)), size, offset + 8))
    return found


@pytest.mark.parametrize("order", ["little", "big"])
def test_a_file_with_lengths_and_offsets_grows(tmp_path, order):
    data, layout = table_file(order)
    added = (1 << 31) - 3
    growth = next(way for way in growths({"f": data}, "f", layout) if
                  {(field.width, field.order) for field in way.fields} == {(8, order), (4, order)})
    grown = growth.grown({"f": data}, added)
    write_sparse(tmp_path / "f", grown["f"])
    each = growth.shift(added) // 3
    assert (tmp_path / "f").stat().st_size == len(data) + 3 * each
    assert added - 3 * 64 < 3 * each <= added
    found = read_table(tmp_path / "f", order)
    assert [head for head, _, _ in found] == PAYLOADS
    assert [size for _, size, _ in found] == [
        len(payload) + (each if 0 < i < 4 else 0) for i, payload in enumerate(PAYLOADS)
    ]
    assert found[4][2] == layout.records[4].offset + 3 * each
    assert growth.grown({"f": data}, 1 << 33) is None  # the table has 32 bits


def test_records_are_repeated_with_their_frames_and_the_count():
    frames = b"".join(struct.pack(">H", len(payload)) + payload for payload in PAYLOADS)
    data = b"HEAD" + struct.pack(">I", len(PAYLOADS)) + frames + b"FOOT"
    spans, offset = [], 8
    for number, payload in enumerate(PAYLOADS):
        spans.append(Span(number, offset + 2, len(payload)))
        offset += 2 + len(payload)
    wanted = b"HEAD" + struct.pack(">I", 3 * len(PAYLOADS)) + 3 * frames + b"FOOT"
    ways = list(repetitions(data, Layout(tuple(spans))))
    assert wanted in [way.repeated(3) for way in ways]
    assert all(way.repeated(1) == data for way in ways)
