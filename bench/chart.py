"""The chart of speed beside peers, drawn from recorded.json: python -m bench.chart

`make bench` draws one of what it measured, next to its tables.  `make bench RECORD=1` also writes
its rates to recorded.json, and the chart of all that is recorded to docs/pictures/speed.svg.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from statistics import median
from typing import Any

from bench import table

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "recorded.json"
PICTURE = HERE.parent / "docs" / "pictures" / "speed.svg"

Rates = dict[str, float]  # contender -> its median rate, in the unit of the workload
Record = dict[str, Any]  # of a workload: "unit", "rates", and "when", the date and the machine


@dataclasses.dataclass(frozen=True)
class Panel:
    """A workload of the chart: one bar for ours, for the best form of each peer and for a limit."""

    workload: str
    word: str  # what it is about, for the notes
    title: str
    ours: str
    limit: str = ""
    limit_is: str = "C++ loop"
    peers: Mapping[str, str] = dataclasses.field(default_factory=dict)  # other names of peers


PANELS = [
    Panel("W1a", "text", "Text of two numbers, 1 GB, in file order",
          "pyflowdata.default", "limits.loader"),
    Panel("W2b", "TFRecord", "TFRecord Examples, 606 MB, shuffled (tf.data: in a buffer)",
          "pyflowdata.examples", "limits.examples-2"),
    Panel("W3", "images", "60,000 images of 28 x 28, shuffled again in each epoch",
          "pyflowdata.IDXReader"),
    Panel("W4", "JPEG crop", "JPEG: random crop to 224 x 224, flip, normalise",
          "pyflowdata.bilinear", "limits.crop",
          peers={"grain": "Grain, simplejpeg", "torch": "torch, simplejpeg"}),
    Panel("W4u", "JPEG resize", "JPEG: resize to 224 x 224 (MB of files)", "pyflowdata.bilinear",
          "limits.resize", peers={"grain": "Grain, simplejpeg"}),
    Panel("W5", "tokens", "Random windows of 2049 tokens of a 1 GB file",
          "pyflowdata.windows", "limits.windows-2"),
]  # fmt: skip
TITLES = {"polars": "polars", "pandas": "pandas", "pyarrow": "pyarrow", "tf": "tf.data",
          "torch": "torch", "numpy": "NumPy loop", "ffcv": "FFCV", "dali": "DALI",
          "grain": "Grain", "mindspore": "MindData"}  # fmt: skip
WIDTH, LEFT, BAR, ROW = 500, 128, 200, 19  # pixels; a bar of the highest rate is BAR long
STYLE = """
text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif;fill:#1f2328}
.title{font-weight:600}
.name{text-anchor:end}
.note{font-size:11px;fill:#59636e}
.ours{fill:#1a7f5a}
.peer{fill:#8c959f}
.limit{fill:none;stroke:#8c959f;stroke-dasharray:4 3}
.back{fill:#fff}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
.note{fill:#9198a1}
.ours{fill:#3fb984}
.peer{fill:#6e7681}
.back{fill:#14181d}
}
"""


@dataclasses.dataclass(frozen=True)
class Bar:
    kind: str  # "ours", "peer" or "limit"
    name: str
    rate: float


def measured(columns: Iterable[table.Column], results: table.Results, when: str) -> Record:
    """What is kept of a workload's rounds: the median rates, in the unit of its speed."""
    speed = next(column for column in columns if column in table.SPEEDS)
    rates = {name: median(map(speed.value, filter(None, rounds)))
             for name, rounds in results.items() if any(rounds)}  # fmt: skip
    rounded = {name: float(f"{rate:.4g}") for name, rate in rates.items()}
    return {"when": when, "unit": speed.title, "rates": rounded}


def bars(panel: Panel, rates: Rates) -> list[Bar]:
    """Ours, then the peers from the fastest to the slowest, then the limit."""
    found = [Bar("ours", "pyflowdata", rates[panel.ours])]
    best: Rates = {}
    for name, rate in rates.items():
        peer = name.partition(".")[0]
        if peer in TITLES:
            best[peer] = max(rate, best.get(peer, 0))
    for peer in sorted(best, key=lambda peer: -best[peer]):
        found.append(Bar("peer", panel.peers.get(peer, TITLES[peer]), best[peer]))
    if panel.limit in rates:
        found.append(Bar("limit", panel.limit_is, rates[panel.limit]))
    return found


def _amount(rate: float, unit: str) -> str:
    """A rate of three digits: 6.16 GB/s, 11.1 M images/s."""
    if rate >= 1000 and unit[:2] in ("MB", "k "):
        rate, unit = rate / 1000, {"M": "G", "k": "M"}[unit[0]] + unit[1:]
    return f"{rate:,.0f} {unit}" if rate >= 100 else f"{rate:.3g} {unit}"


def _panel(top: float, panel: Panel, record: Record) -> tuple[str, float]:
    """A panel's lines of SVG, and where the next one begins."""
    found = bars(panel, record["rates"])
    highest, ours = max(bar.rate for bar in found), found[0].rate
    lines = [f'<text class="title" x="10" y="{top + 14:g}">{escape(panel.title)}</text>']
    for number, bar in enumerate(found):
        y = top + 22 + ROW * number
        text = _amount(bar.rate, record["unit"])
        text += "" if bar.kind == "ours" else f", {bar.rate / ours:.2g} x"
        width = bar.rate / highest * BAR
        lines += [
            f'<text class="name" x="{LEFT - 8}" y="{y + 13:g}">{escape(bar.name)}</text>',
            f'<rect class="{bar.kind}" x="{LEFT}" y="{y + 2.5:g}" width="{width:.1f}" '
            'height="14"/>',
            f'<text x="{LEFT + width + 6:.1f}" y="{y + 13:g}">{escape(text)}</text>',
        ]
    return "\n".join(lines), top + 22 + ROW * len(found) + 12


def draw(records: Mapping[str, Record]) -> str:
    """The chart of those of the panels that are recorded, as SVG."""
    top, parts = 8.0, []
    when: dict[str, list[str]] = {}
    for panel in PANELS:
        record = records.get(panel.workload)
        if record and panel.ours in record["rates"]:
            lines, top = _panel(top, panel, record)
            parts.append(lines)
            when.setdefault(record["when"], []).append(panel.word)
    notes = [
        "Longer is faster; 0.5 x: half of our rate. All read the same files, in the page cache.",
        "C++ loop: plain C++ on all cores that reads and decodes, a mark and not a bound.",
    ]
    for said, words in when.items():
        notes += [f"{', '.join(words)}:"] if len(when) > 1 else []
        notes += said.split("; ")
    for note in notes:
        parts.append(f'<text class="note" x="10" y="{top + 12:g}">{escape(note)}</text>')
        top += 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top + 8:g}" '
        f'viewBox="0 0 {WIDTH} {top + 8:g}" role="img"><title>Speed beside peers</title>'
        f'<style>{STYLE}</style><rect class="back" width="100%" height="100%" rx="6"/>\n'
        + "\n".join(parts) + "\n</svg>\n"
    )  # fmt: skip


def record(found: Mapping[str, Record]) -> None:
    """Replaces what recorded.json has of these workloads, and draws the chart of all."""
    RECORDED.write_text(json.dumps({**recorded(), **found}, indent=1) + "\n")
    PICTURE.write_text(draw(recorded()))


def recorded() -> dict[str, Record]:
    records: dict[str, Record] = json.loads(RECORDED.read_text())
    return records


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(recorded()))
    print(f"drawn from {RECORDED.name}: {PICTURE}")
