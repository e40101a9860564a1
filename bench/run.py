"""The driver: data, environments, interleaved rounds, tables.  README.md says how it measures.

python -m bench.run [--workloads W1a W1b] [--peers tf polars] [--rounds 5] [--scale 1] [--smoke]
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bench import chart, programs, table
from bench.contender import ONE_CORE
from bench.data import Data, from_description, prepare
from bench.environments import ALWAYS, LIMITS, OURS, all_peers, interpreter, versions
from bench.measure import anonymous_bytes
from bench.table import Measures, Results

HERE = Path(__file__).resolve().parent
CORES = programs.cores()
TIMEOUT = 900  # seconds that one contender may take
SMOKE_SCALE = 0.001


@dataclasses.dataclass(frozen=True)
class Entry:
    """A contender as the driver knows it."""

    peer: str
    python: str
    workload: str
    name: str
    text: str
    data: Data | None
    cores: int | None

    @property
    def title(self) -> str:
        return f"{self.peer}.{self.name}"


def all_workloads() -> list[str]:
    names = (path.stem for path in (HERE / "workloads").glob("w*.py"))
    return sorted((name.capitalize() for name in names), key=lambda name: (len(name), name))


def workload_module(name: str) -> Any:
    return importlib.import_module(f"bench.workloads.{name.lower()}")


def call_child(python: str, *arguments: str, cores: int | None = None) -> subprocess.Popen[str]:
    with programs.pinned(cores):
        return subprocess.Popen(
            [python, "-m", "bench.child", *arguments],
            cwd=programs.ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def list_entries(peer: str) -> list[Entry]:
    """What a peer has; a peer that cannot be installed or imported has nothing."""
    python, problem = interpreter(peer)
    if python:
        process = call_child(python, "list", peer)
        output, errors = process.communicate()
        if process.returncode == 0:
            found = json.loads(output)
            for each in found:
                each["data"] = from_description(each["data"])
            return [Entry(peer, python, **each) for each in found]
        problem = errors.strip()[-500:]
    print(f"{peer} is left out: {problem}", flush=True)
    return []


def tree(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for process in found:
        try:
            children = Path(f"/proc/{process}/task/{process}/children").read_text()
        except OSError:
            continue
        found += map(int, children.split())
    return found


def run_contender(entry: Entry, scale: float) -> Measures | None:
    """One process; its memory is looked at from outside, every 10 ms."""
    began, peak = time.monotonic(), 0
    arguments = ["run", entry.peer, entry.workload, entry.name, str(scale)]
    process = call_child(entry.python, *arguments, cores=entry.cores)
    with ThreadPoolExecutor(1) as reader:
        output = reader.submit(process.communicate)
        while not output.done():
            peak = max(peak, sum(map(anonymous_bytes, tree(process.pid))))
            if time.monotonic() - began > TIMEOUT:
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.01)
        answer, errors = output.result()
    if process.returncode != 0:
        print(f"  {entry.title} failed ({process.returncode}): {errors.strip()[-500:]}", flush=True)
        return None
    measures: Measures = json.loads(answer)
    return measures | {"peak_anon": peak}


def run_rounds(entries: list[Entry], rounds: int, scale: float, smoke: bool) -> Results:
    """Each round runs every contender once, and begins with another one."""
    results: Results = {entry.title: [] for entry in entries}
    for number in range(rounds):
        first = number * len(entries) // rounds
        order = entries[first:] + entries[:first]
        with ThreadPoolExecutor(CORES if smoke else 1) as pool:
            for entry, measures in zip(order, pool.map(lambda e: run_contender(e, scale), order)):
                results[entry.title].append(measures)
                if measures and not smoke:
                    speed, check = table.rate(measures), measures["check"]
                    print(f"  {number + 1} {entry.title}: {speed:.4g} MB/s, {check}", flush=True)
    return results


def explain(entries: list[Entry]) -> str:
    """A list of what the contenders do, without twins; those that do the same share a line."""
    titles: dict[str, list[str]] = {}
    for entry in entries:
        if entry.title.endswith(ONE_CORE):
            continue
        text = f"{entry.text} ({entry.data.name})" if entry.data else entry.text
        titles.setdefault(text, []).append(entry.title)
    return "\n".join(f"- {', '.join(same)}: {text}" for text, same in titles.items())


def tables(module: Any, entries: list[Entry], results: Results) -> Iterator[str]:
    """A workload's own, or one with ratios to the best peer and to its bases; and what has a twin
    on one core, limits included, beside it."""
    titles = [entry.title for entry in entries if entry.cores is None]
    loaders = [entry.title for entry in entries if entry.peer != LIMITS]
    for each in getattr(module, "TABLES", ()):
        names = [title for title in titles if title.partition(".")[2].startswith(each.prefix)]
        if names:
            yield f"**{each.title}**\n\n{table.render(results, names, each.columns)}"
    if not hasattr(module, "TABLES"):
        best = table.best(results, (e.title for e in entries if e.peer not in ALWAYS))
        bases = [base for base in dict.fromkeys([best, *module.BASES]) if base in results]
        ratios = [table.compared(f"/ {base}", base) for base in bases]
        names = [title for title in titles if title in loaders]
        yield table.render(results, names, [*ratios, *module.COLUMNS])
    twins = [title for title in titles if title + ONE_CORE in results]
    if twins:
        columns = table.one_core(module.COLUMNS)
        yield f"**One core and all {CORES}**\n\n{table.render(results, twins, columns)}"


def report(name: str, entries: list[Entry], results: Results) -> str:
    """The tables of a workload in Markdown, and what each contender does."""
    module = workload_module(name)
    title = " ".join(module.__doc__.split())
    return "\n\n".join([f"### {title}", *tables(module, entries, results), explain(entries)])


def machine() -> str:
    """Date, CPU and versions."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    today = datetime.now(timezone.utc).date().isoformat()
    system = f"Linux {platform.release()}, Python {platform.python_version()}"
    command = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.run(command, cwd=programs.ROOT, capture_output=True, text=True).stdout
    return f"{today}, {model}, {CORES} cores, {system}, commit {commit.strip() or 'unknown'}"


def save(text: str, results: dict[str, Results]) -> Path:
    folder = programs.BUILD / "results"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / datetime.now().strftime("%Y%m%d-%H%M%S.md")
    path.write_text(text + "\n")
    path.with_suffix(".json").write_text(json.dumps(results, indent=1))
    return path


def draw_chart(path: Path, results: dict[str, Results], rounds: int, *, is_record: bool) -> None:
    """Of what was measured, beside its tables; and of all that is recorded."""
    when = f"{machine()}; {rounds} interleaved rounds, medians"
    charted = {panel.workload for panel in chart.PANELS}
    records = {name: chart.measured(workload_module(name).COLUMNS, found, when)
               for name, found in results.items() if name in charted}  # fmt: skip
    path.with_suffix(".svg").write_text(chart.draw(records))
    if is_record:
        chart.record(records)


def problems(results: dict[str, Results]) -> list[str]:
    """What failed or delivered something else than the data."""
    found = []
    for workload, contenders in results.items():
        for title, rounds in contenders.items():
            checks = {measures["check"] if measures else "failed" for measures in rounds}
            wrong = sorted(check for check in checks if check.startswith(("WRONG", "failed")))
            found += [f"{workload} {title}: {check}" for check in wrong]
    return found


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Runs the benchmark; see bench/README.md.")
    add = parser.add_argument
    add("--workloads", nargs="*", default=all_workloads(), choices=all_workloads())
    add("--peers", nargs="*", help="which peers (default: all); ours and the limits always run")
    add("--rounds", type=int, default=5)
    add("--scale", type=float, default=1, help="of the sizes of the data")
    add("--only", default="", help="contenders that have this in their name")
    add("--record", action="store_true", help="keep the rates, and draw the chart of the docs")
    add("--smoke", action="store_true", help="tiny data, one round, few peers")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.rounds, arguments.scale = 1, SMOKE_SCALE
        arguments.peers = ["numpy", "plugin", "stdlib"]
    if arguments.record and (arguments.smoke or arguments.scale != 1):
        parser.error("--record is for data of full size")
    if arguments.peers is None:
        arguments.peers = all_peers()
    unknown = set(arguments.peers) - set(all_peers())
    if unknown:
        parser.error(f"there is no peer {', '.join(unknown)}; there are {', '.join(all_peers())}")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    peers = [*ALWAYS, *arguments.peers]
    texts = [
        f"{machine()}\n\n{versions(peers)}\n\n"
        f"{arguments.rounds} interleaved rounds, medians; scale {arguments.scale:g}"
    ]
    programs.build()
    entries = [entry for peer in peers for entry in list_entries(peer)]
    results: dict[str, Results] = {}
    for name in arguments.workloads:
        chosen = [e for e in entries if e.workload == name and arguments.only in e.title]
        if arguments.smoke:  # a twin on one core delivers what the other does
            chosen = [e for e in chosen if not e.title.endswith(ONE_CORE)]
        data = workload_module(name).DATA
        if chosen:
            getattr(workload_module(name), "build", lambda: None)()
        prepare((entry.data or data).scaled(arguments.scale) for entry in chosen)
        print(f"{name}: {len(chosen)} contenders", flush=True)
        results[name] = run_rounds(chosen, arguments.rounds, arguments.scale, arguments.smoke)
        texts.append(report(name, chosen, results[name]))
    text = "\n\n".join(texts)
    path = save(text, results)
    print(f"\n{text}\n\nsaved as {path}")
    failed = problems(results)
    draw_chart(path, results, arguments.rounds, is_record=arguments.record and not failed)
    print("\n".join(failed) or "all that was delivered is right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
