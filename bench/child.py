"""What runs in a process of its own, under the peer's interpreter; prints a dict in JSON.

python -m bench.child list PEER
python -m bench.child run PEER WORKLOAD NAME SCALE
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
from typing import Any

from bench.contender import Contender, Source, registered
from bench.data import Truth, described
from bench.measure import Measures, anonymous_bytes, measure

os.environ.setdefault("PYFLOWDATA_INDEX_DIR", "none")  # opening includes building the index


def list_contenders(peer: str) -> list[dict[str, Any]]:
    importlib.import_module(f"bench.peers.{peer}")
    return [
        {
            "workload": found.workload,
            "name": found.name,
            "text": found.text,
            "data": described(found.data),
            "cores": found.cores,
        }
        for found in registered
    ]


def find(workload: str, name: str) -> Contender:
    for found in registered:
        if (found.workload, found.name) == (workload, name):
            return found
    raise SystemExit(f"there is no contender {name} for {workload}")


def run(peer: str, workload_name: str, name: str, scale: float) -> Measures:
    workload = importlib.import_module(f"bench.workloads.{workload_name.lower()}")
    base = anonymous_bytes()
    importlib.import_module(f"bench.peers.{peer}")
    contender = find(workload_name, name)
    data = (contender.data or workload.DATA).scaled(scale)
    truth, size = data.truth(contender.parts)
    source = Source(str(data.folder), data.files(contender.parts), workload.BATCH_SIZE)
    measures, found = measure(contender, source, workload.LATENCIES)
    if measures.get("rows", truth.rows) != truth.rows:
        found = Truth(measures["rows"])  # the timed epoch differs
    who = resource.RUSAGE_CHILDREN if contender.program else resource.RUSAGE_SELF
    return {
        "bytes": size,
        "records": truth.rows // data.ROWS,
        "base_anon": base,
        "check": truth.compare(found) if "rows" in measures else "-",
        "max_rss": resource.getrusage(who).ru_maxrss * 1024,
        **measures,
    }


def main(action: str, peer: str, *arguments: str) -> None:
    # Libraries may print: what they print goes to stderr.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if action == "list":
        result: Any = list_contenders(peer)
    else:
        workload, name, scale = arguments
        result = run(peer, workload, name, float(scale))
    print(json.dumps(result), file=answer, flush=True)
    os._exit(0)  # not waiting for a library's threads


if __name__ == "__main__":
    main(*sys.argv[1:])
