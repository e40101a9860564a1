"""Records from a store beside other libraries: MosaicML Streaming, litData, webdataset, Hugging
Face's streaming, Amazon's connector for torch.

    python -m bench.remote_peers
    python -m bench.remote_peers --data 64 --rounds 1 --rate 20   # MB/s of a connection
    python -m bench.remote_peers --server moto

The server is nginx on loopback, which answers GET and HEAD of S3's addresses as of others, or that
of moto, which is S3 with lists and keys, and slow: compare what is asked of it.  All read the same
records, each in its own form, in shards of 8 MB, shuffled as the library does it, in batches of 64,
with two worker processes where it is made for those.  Each contender has a process of its own, and
a new cache: its first epoch is cold, its second one warm.  The clock of the cold one begins after
the imports, and before the data set is opened.  Bytes and requests are what the server notes; CPU
time is of the process and those it started.  The numbers of the records are compared with all that
there are.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import itertools
import os
import pwd
import resource
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bench import own_process, programs
from bench.environments import OURS, interpreter, versions

MB = 1 << 20
RECORD, BATCH, SHARD, WORKERS = 16 << 10, 64, 8 * MB, 2
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
CONFIGURATION = """
user {user}; daemon off; pid nginx.pid; error_log stderr crit; worker_processes 1;
http {{
    log_format plain '$body_bytes_sent';
    access_log access.log plain;
    server {{ listen 127.0.0.1:{port}; root {root}; {limit} }}
}}
events {{ }}
"""
SERVERS = ("nginx", "moto")
Numbers = npt.NDArray[np.int64]
Epoch = Callable[[], Iterable[Numbers]]  # the numbers of a batch's records


# ---- The data -----------------------------------------------------------------------------------


def records(count: int) -> Iterator[bytes]:
    """A number of 8 bytes, and bytes that nothing compresses."""
    random = np.random.default_rng(1)
    for number in range(count):
        yield number.to_bytes(8, "little") + random.bytes(RECORD - 8)


def write_tar(folder: Path, count: int) -> None:
    each = SHARD // RECORD
    rows = records(count)
    for shard in range(count // each):
        with tarfile.open(folder / f"{shard:03d}.tar", "w") as out:
            for number in range(shard * each, (shard + 1) * each):
                member = tarfile.TarInfo(f"{number:07d}.bin")
                member.size = RECORD
                out.addfile(member, io.BytesIO(next(rows)))


def write_mds(folder: Path, count: int) -> None:
    from pyflowdata import io as writers

    options: Any = {"columns": {"x": "bytes"}, "shard_bytes": SHARD, "overwrite": True}
    with writers.MDSWriter(folder, **options) as out:
        for row in records(count):
            out.write({"x": row})


def rows_of_litdata(count: int) -> Iterator[dict[str, bytes]]:
    for row in records(count):
        yield {"x": row}


def write_litdata(folder: Path, count: int) -> None:
    import litdata

    litdata.optimize(rows_of_litdata, [count], str(folder), chunk_bytes=SHARD, num_workers=1)


def write_parquet(folder: Path, count: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    each = SHARD // RECORD
    rows = records(count)
    for shard in range(count // each):
        table = pa.table({"x": list(itertools.islice(rows, each))})
        pq.write_table(table, folder / f"{shard:03d}.parquet", compression="none",
                       row_group_size=BATCH)


FORMS: dict[str, tuple[str, Callable[[Path, int], None]]] = {
    "tar": (OURS, write_tar), "mds": (OURS, write_mds), "litdata": ("remote", write_litdata),
    "parquet": ("datasets", write_parquet),
}  # fmt: skip


# ---- Contenders ---------------------------------------------------------------------------------


class Store(NamedTuple):
    """Where the data is: the files in `root`, the server that has them at `url`, and the bucket as
    pyflowdata reads it, which asks nginx for objects of a web server."""

    root: Path
    url: str
    bucket: str


def number_of(row: Any) -> int:
    return int.from_bytes(bytes(row[:8]), "little")


def names(store: Store, form: str) -> list[str]:
    return [f"{form}/{path.name}" for path in sorted((store.root / form).iterdir())]


def ours(urls: list[str] | str, field: str, cache: Path) -> Epoch:
    import pyflowdata as flow

    os.environ["PYFLOWDATA_INDEX_DIR"] = str(cache)  # new in each round, as the cache is
    flow.remote.configure(cache_dir=cache, budget="2GB")
    data = flow.open(urls, fields=[field]).shuffle(kind="window", seed=1).batch(BATCH)
    loader: Any = flow.DataLoader(data)

    def epoch() -> Iterator[Numbers]:
        for batch in loader:
            (ragged,) = batch
            rows = np.asarray(ragged.values).view(np.uint8).reshape(-1, RECORD)
            yield np.ascontiguousarray(rows[:, :8]).view(np.int64).ravel()

    return epoch


def pyflowdata_tar(store: Store, cache: Path) -> Epoch:
    return ours([f"{store.bucket}/{name}" for name in names(store, "tar")], "bin", cache)


def pyflowdata_mds(store: Store, cache: Path) -> Epoch:
    return ours(f"{store.bucket}/mds/", "x", cache)


def torch_epoch(loader: Any) -> Epoch:
    def epoch() -> Iterator[Numbers]:
        for batch in loader:
            yield np.array([number_of(row["x"] if isinstance(row, dict) else row) for row in batch])

    return epoch


def as_is(rows: Any) -> Any:
    return rows


def as_bytes(rows: Any) -> list[bytes]:
    """litData's rows are views of its chunk, which no process can send."""
    return [bytes(row["x"]) for row in rows]


def mosaicml_streaming(store: Store, cache: Path) -> Epoch:
    """StreamingDataset in torch's DataLoader."""
    from streaming import StreamingDataset
    from torch.utils.data import DataLoader

    data = StreamingDataset(remote="s3://data/mds", local=str(cache), shuffle=True,
                            batch_size=BATCH, num_canonical_nodes=1)
    return torch_epoch(DataLoader(data, BATCH, num_workers=WORKERS, collate_fn=as_is))


def litdata(store: Store, cache: Path) -> Epoch:
    """StreamingDataset in StreamingDataLoader."""
    from litdata import StreamingDataLoader, StreamingDataset
    from litdata.streaming import downloader

    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True  # it has no option for this
    options = {"endpoint_url": store.url, "aws_access_key_id": "me",
               "aws_secret_access_key": "secret"}  # fmt: skip
    data = StreamingDataset("s3://data/litdata", cache_dir=str(cache), shuffle=True,
                            storage_options=options)
    return torch_epoch(StreamingDataLoader(data, batch_size=BATCH, num_workers=WORKERS,
                                           collate_fn=as_bytes))  # fmt: skip


def webdataset(store: Store, cache: Path) -> Epoch:
    """WebDataset with a cache and a buffer of 1000, in WebLoader."""
    import webdataset as wds

    cache.mkdir(exist_ok=True)
    urls = [f"{store.url}/data/{name}" for name in names(store, "tar")]
    data = wds.WebDataset(urls, shardshuffle=100, cache_dir=str(cache)).shuffle(1000)
    rows = data.map(bytes_of)
    return torch_epoch(wds.WebLoader(rows, batch_size=BATCH, num_workers=WORKERS, collate_fn=as_is))


def bytes_of(sample: Any) -> bytes:
    found: bytes = sample["bin"]
    return found


def huggingface_streaming(store: Store, cache: Path) -> Epoch:
    """load_dataset(streaming=True) of Parquet, which keeps nothing, and a buffer of 1000."""
    import datasets

    urls = [f"{store.url}/data/{name}" for name in names(store, "parquet")]
    rows = datasets.load_dataset("parquet", data_files={"train": urls}, split="train",
                                 streaming=True).shuffle(seed=1, buffer_size=1000)
    return lambda: (np.array(list(map(number_of, batch["x"]))) for batch in rows.iter(BATCH))


class _Members:
    """The files of a tar that comes from a store."""

    def __call__(self, reader: Any) -> list[bytes]:
        with tarfile.open(fileobj=io.BytesIO(reader.read())) as found:
            return [found.extractfile(one).read() for one in found]  # type: ignore[union-attr]


def s3torchconnector(store: Store, cache: Path) -> Epoch:
    """S3IterableDataset of tar files in torch's DataLoader, which keeps nothing; whole shards."""
    from s3torchconnector import S3ClientConfig, S3IterableDataset
    from torch.utils.data import DataLoader

    data = S3IterableDataset.from_objects(
        [f"s3://data/{name}" for name in names(store, "tar")], region="us-east-1",
        endpoint=store.url, transform=_Members(), enable_sharding=True,
        s3client_config=S3ClientConfig(force_path_style=True),
    )
    loader = DataLoader(data, batch_size=None, num_workers=WORKERS)
    return lambda: (np.array(list(map(number_of, shard))) for shard in loader)


CONTENDERS: dict[str, list[Callable[[Store, Path], Epoch]]] = {
    OURS: [pyflowdata_tar, pyflowdata_mds], "datasets": [huggingface_streaming],
    "remote": [mosaicml_streaming, litdata, webdataset, s3torchconnector],
}  # fmt: skip


IMPORTS = {
    "huggingface_streaming": ["datasets"], "mosaicml_streaming": ["streaming"],
    "litdata": ["litdata"], "webdataset": ["webdataset", "torch.utils.data"],
    "s3torchconnector": ["s3torchconnector", "torch.utils.data"],
}  # fmt: skip

# ---- Measuring, in the process of a contender ---------------------------------------------------


def cpu_seconds() -> float:
    """Of this process, and of those that it started and that have ended."""
    found = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in found)


def sent(log: Path) -> list[int]:
    """The bytes of each answer."""
    return [int(line) for line in log.read_text().splitlines()]


def measure(name: str, store: Store, count: int, log: Path) -> dict[str, float]:
    os.environ |= {"S3_ENDPOINT_URL": store.url, "AWS_ENDPOINT_URL": store.url,
                   "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
                   "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret"}  # fmt: skip
    (contender,) = [one for each in CONTENDERS.values() for one in each if one.__name__ == name]
    found: dict[str, float] = {}
    for module in IMPORTS.get(name, ["pyflowdata.remote.client"]):
        importlib.import_module(module)
    with tempfile.TemporaryDirectory() as folder:
        epoch = None
        for kind in ("cold", "warm"):
            before, cpu, begin = len(sent(log)), cpu_seconds(), time.perf_counter()
            epoch = epoch or contender(store, Path(folder, "cache"))
            numbers = np.concatenate(list(epoch()))
            found[f"{kind} seconds"] = time.perf_counter() - begin
            found[f"{kind} cpu"] = cpu_seconds() - cpu
            found[f"{kind} bytes"] = sum(sent(log)[before:])
            found[f"{kind} requests"] = len(sent(log)) - before
            found[f"{kind} wrong"] = float(not np.array_equal(np.sort(numbers), np.arange(count)))
    return found


# ---- The table ----------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    while socket.socket().connect_ex(("127.0.0.1", port)) and process.poll() is None:
        time.sleep(0.01)


@contextlib.contextmanager
def serving(folder: Path, root: Path, rate: int) -> Iterator[tuple[str, Path]]:
    """The server's address, and its log."""
    if NGINX is None:
        sys.exit("nginx is not installed (Debian: nginx)")
    port = free_port()
    limit = f"limit_rate {rate}m;" if rate else ""
    user = pwd.getpwuid(os.getuid()).pw_name
    (folder / "nginx.conf").write_text(
        CONFIGURATION.format(user=user, port=port, root=root, limit=limit)
    )
    process = subprocess.Popen([NGINX, "-p", f"{folder}/", "-c", "nginx.conf"])
    try:
        wait_for(process, port)
        yield f"http://127.0.0.1:{port}", folder / "access.log"
    finally:
        process.terminate()
        process.wait()


def serve(port: int, log: Path) -> None:
    """Runs moto's server, which notes the bytes of each answer before it sends them."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, run_simple

    answers = DomainDispatcherApplication(create_backend_app)

    def noting(request: Any, start: Any) -> Any:
        def begin(status: str, headers: Any, *failure: Any) -> Any:
            size = 0 if request["REQUEST_METHOD"] == "HEAD" else dict(headers)["Content-Length"]
            with log.open("a") as out:
                out.write(f"{size}\n")
            return start(status, headers, *failure)

        return answers(request, begin)

    WSGIRequestHandler.protocol_version = "HTTP/1.1"
    run_simple("127.0.0.1", port, noting, threaded=True)


def put(url: str, data: bytes) -> None:
    """Makes a bucket or an object, which anybody may read."""
    head = {"Content-Type": "application/octet-stream", "x-amz-acl": "public-read"}
    urllib.request.urlopen(urllib.request.Request(url, data, head, method="PUT")).close()


@contextlib.contextmanager
def storing(folder: Path, root: Path, python: str) -> Iterator[tuple[str, Path]]:
    """The address of moto's server, which has the objects in its memory, and its log."""
    port, log = free_port(), folder / "access.log"
    log.touch()
    words = [python, "-m", "bench.remote_peers", "--child", "serve", str(port), str(log)]
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(words, cwd=programs.ROOT, stdout=said, stderr=said)
    try:
        wait_for(process, port)
        url = f"http://127.0.0.1:{port}"
        put(f"{url}/data", b"")
        for path in sorted((root / "data").rglob("*.*")):
            if path.is_file():
                put(f"{url}/{path.relative_to(root)}", path.read_bytes())
        yield url, log
    finally:
        process.terminate()
        process.wait()


def made(pythons: dict[str, str | None], megabytes: int) -> Path:
    """The folder of the data, in the forms of those that there are."""
    root = programs.BUILD / "data" / f"remote-{megabytes}"
    for form, (peer, _) in FORMS.items():
        folder, python = root / "data" / form, pythons.get(peer)
        if folder.exists() or not python:
            continue
        unfinished = folder.with_name(f".{form}")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        if own_process.run(python, "bench.remote_peers", "write", form, str(unfinished),
                           str(megabytes)):  # fmt: skip
            unfinished.rename(folder)
    return root


def show(results: dict[str, list[dict[str, float]]], megabytes: int) -> None:
    count = megabytes * MB // RECORD
    print("| contender | epoch | records/s | MB/s | CPU us/record | requests | fetched/used | "
          "wrong rounds |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    for (name, rounds), kind in itertools.product(results.items(), ("cold", "warm")):
        if not rounds:
            continue
        seconds, cpu, requests, came = (
            median(one[f"{kind} {key}"] for one in rounds)
            for key in ("seconds", "cpu", "requests", "bytes")
        )
        wrong = sum(one[f"{kind} wrong"] for one in rounds)
        print(f"| {name} | {kind} | {count / seconds:,.0f} | {megabytes / seconds:.0f} | "
              f"{cpu / count * 1e6:.0f} | {requests:.0f} | {came / MB / megabytes:.2f} | "
              f"{wrong:.0f} of {len(rounds)} |")  # fmt: skip


def child(what: str, *words: str) -> None:
    if what == "write":
        form, folder, megabytes = words
        write = FORMS[form][1]
        own_process.answer(
            lambda: {"written": write(Path(folder), int(megabytes) * MB // RECORD) or 1.0}
        )
    if what == "serve":
        port, log = words
        serve(int(port), Path(log))
    root, url, bucket, megabytes, log = words
    count = int(megabytes) * MB // RECORD
    store = Store(Path(root, "data"), url, bucket)
    own_process.answer(lambda: measure(what, store, count, Path(log)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--data", type=int, default=128, help="MB, a multiple of 8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=0, help="MB/s of a connection; 0: no limit")
    parser.add_argument("--server", choices=SERVERS, default="nginx")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(*given.child)
    pythons: dict[str, str | None] = {}
    for peer in CONTENDERS:
        pythons[peer], why = interpreter(peer)
        print(f"{peer}: {why}" if why else "", end="\n" if why else "")
    is_s3 = given.server == "moto"
    if given.rate and is_s3:
        parser.error("--rate is for nginx")
    server, why = interpreter(given.server)
    if not server:
        sys.exit(why)
    print(versions([*(peer for peer in CONTENDERS if peer != OURS), given.server]))
    root = made(pythons, given.data)
    chosen = [(peer, one.__name__) for peer, each in CONTENDERS.items() for one in each]
    results: dict[str, list[dict[str, float]]] = {name: [] for _, name in chosen}
    with tempfile.TemporaryDirectory() as folder, (
        storing(Path(folder), root, server) if is_s3 else serving(Path(folder), root, given.rate)
    ) as (url, log):
        bucket = "s3://data" if is_s3 else f"{url}/data"
        for _, (peer, name) in itertools.product(range(given.rounds), chosen):
            words = (name, str(root), url, bucket, str(given.data), str(log))
            python = pythons[peer]
            found = own_process.run(python, "bench.remote_peers", *words) if python else None
            results[name] += [found] if found else []
    show(results, given.data)


if __name__ == "__main__":
    main()
