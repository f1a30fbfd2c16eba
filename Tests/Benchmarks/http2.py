#!/usr/bin/env -S python3 -B
"""Compares the proxy with its neighbours where one side or both speak HTTP/2.

Three rows: HTTP/2 clients before an HTTP/1 origin, HTTP/1 clients before an HTTP/2 origin, HTTP/2 on
both sides; all without TLS. Load comes from h2load, or from wrk for HTTP/1 clients; rounds are
interleaved, medians are shown. The figure that hardly depends on a quiet machine is processor time per request.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

import measure
from measure import Trouble
from peers import TOKEN, Envoy, HAProxy, Nginx, Ours, Peer

ROWS = ["h2-h1", "h1-h2", "h2-h2"]


def main() -> int:
    here = pathlib.Path(__file__).resolve()
    build = here.parents[2] / ".build"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=",".join(ROWS), help="of " + ", ".join(ROWS))
    parser.add_argument("--only", default="ours,nginx,nghttpx,haproxy,envoy")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=100_000, help="of each round")
    parser.add_argument("--seconds", type=int, default=4, help="of wrk, for HTTP/1 clients")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--streams", type=int, default=8, help="at once on a connection")
    parser.add_argument("--root", type=pathlib.Path, default=build / "bench")
    parser.add_argument("--binary", type=pathlib.Path, default=build / "release/proxy")
    parser.add_argument("--quick", action="store_true", help="one short round")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.requests, options.seconds = 1, 20_000, 1
    measure.raise_file_limit()
    folder = options.root / "run-http2"
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for row in options.rows.split(","):
        results[row] = run(row, options, folder)
        show(row, results[row])
    path = options.root / "results-http2.json"
    path.write_text(json.dumps(results, indent=2) + "\n")
    return 0


def run(row: str, options: argparse.Namespace, folder: pathlib.Path) -> dict[str, dict]:
    client, origin = row.split("-")
    results: dict[str, dict] = {}
    with contextlib.ExitStack() as stack:
        port = start_origin(options.root, folder, origin, stack)
        live = {}
        for name in options.only.split(","):
            try:
                peer = make(name, options, folder, client, origin)
                if peer is None:
                    continue
                live[name] = start(peer, port, client, stack)
            except (OSError, StopIteration, Trouble, subprocess.CalledProcessError) as error:
                say(f"{row}: {name} left out: {error}")
        rounds: dict[str, list[dict]] = {name: [] for name in live}
        names = list(live)
        for number in range(options.rounds):
            say(f"{row}: round {number + 1}")
            turn = number % max(len(names), 1)
            for name in names[turn:] + names[:turn]:
                rounds[name].append(load(*live[name], client, options))
        for name, kept in rounds.items():
            results[name] = {key: statistics.median(one[key] for one in kept) for key in kept[0]}
    return results


# Load ----------------------------------------------------------------------------------------


def load(running: measure.Running, port: int, client: str, options) -> dict[str, float]:
    if client == "h1":
        one = measure.load(running.pid, port, options.connections * 2, options.seconds)
        names = ("processor", "user", "system", "per_second", "resident")
        return {name: getattr(one, name) for name in names}
    command = ["h2load", f"-n{options.requests}", f"-c{options.connections}"]
    command.append(f"-m{options.streams}")
    before = measure.processor_time(running.pid)
    with measure.pinned(proxy=False):
        said = subprocess.run(
            [*command, f"http://127.0.0.1:{port}/"], capture_output=True, text=True, check=True
        ).stdout
    spent = measure.processor_time(running.pid) - before
    good = int(re.search(r"status codes: (\d+) 2xx", said).group(1))
    if good != options.requests:
        raise Trouble(f"h2load: {good} of {options.requests} answers were good: {said}")
    return {
        "processor": (spent.user + spent.system) / good,
        "user": spent.user / good,
        "system": spent.system / good,
        "per_second": float(re.search(r"([\d.]+) req/s", said).group(1)),
        "resident": measure.memory(running.pid),
    }


def show(row: str, results: dict[str, dict]) -> None:
    others = [one["processor"] for name, one in results.items() if name != "ours"]
    ratio = f"{results['ours']['processor'] / min(others):.2f}" if others and "ours" in results else "?"
    print(f"{row}:      CPU/req µs   user  system   req/s   RSS MiB   (ours/best {ratio})")
    for name, one in results.items():
        micro = [one[key] * 1e6 for key in ("processor", "user", "system")]
        print(
            f"  {name:10} {micro[0]:8.1f} {micro[1]:6.1f} {micro[2]:7.1f}"
            f" {one['per_second']:7.0f} {one['resident'] / 2**20:9.1f}"
        )


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


# Origins and proxies -------------------------------------------------------------------------


def start_origin(root, folder, origin: str, stack: contextlib.ExitStack) -> int:
    """One of HTTP/1 that demands the credential, or nghttpd, which serves the same document."""
    if origin == "h1":
        command = [str(root / "bin/origin"), TOKEN]
        with measure.pinned(proxy=False):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        return int(process.stdout.readline())
    documents = folder / "documents"
    documents.mkdir(exist_ok=True)
    (documents / "index.html").write_bytes(b"x" * measure.DOCUMENT_BYTES)
    port = measure.free_port()
    command = [program(root, "nghttpd"), "--no-tls", f"-d{documents}", "-n1", str(port)]
    with measure.pinned(proxy=False):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=unpacked(root))
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return port


def unpacked(root: pathlib.Path) -> dict[str, str]:
    """Surroundings in which programs find the libraries that were unpacked beside them."""
    libraries = sorted({str(path.parent) for path in root.glob("debian/usr/lib/**/*.so*")})
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)}


def program(root: pathlib.Path, name: str) -> str:
    found = next(iter(root.glob(f"debian/usr/*bin/{name}")), None) or shutil.which(name)
    if not found:
        raise OSError(f"{name} is not here")
    return str(found)


def make(name: str, options, folder, client: str, origin: str) -> Peer | None:
    if name == "ours":
        return Ours2(options.root, folder, options.binary, origin == "h2")
    kind = {"nginx": Nginx2, "nghttpx": Nghttpx, "haproxy": HAProxy2, "envoy": Envoy2}[name]
    if kind is Nginx2 and origin == "h2":
        return None
    peer = kind(options.root, folder)
    peer.client, peer.origin = client, origin
    return peer


def start(peer: Peer, origin: int, client: str, stack: contextlib.ExitStack):
    port = measure.free_port()
    running = measure.Running(
        peer.command(port, origin), peer.environment(), peer.folder / "output"
    )
    stack.callback(running.stop)
    option = "--http2-prior-knowledge" if client == "h2" else "--http1.1"
    asked = subprocess.run(
        ["curl", "-sS", option, "--noproxy", "*", "--retry", "40", "--retry-connrefused"]
        + ["--retry-delay", "0", "-w", "%{http_code}", "-o", "/dev/null"]
        + [f"http://127.0.0.1:{port}/"],
        capture_output=True, text=True,
    )  # fmt: skip
    if asked.stdout[-3:] != "200":
        raise Trouble(f"the first answer was {asked.stdout!r} {asked.stderr!r}: {running.said()}")
    return running, port


class Ours2(Ours):
    def __init__(self, root, folder, binary, speaks_http2: bool):
        super().__init__(root, folder, binary)
        self.speaks_http2 = speaks_http2

    def command(self, port, origin):
        command = super().command(port, origin)
        if self.speaks_http2:
            path = pathlib.Path(command[-1])
            path.write_text(path.read_text() + "http2: on\n")
        return command


class Nginx2(Nginx):
    def command(self, port, origin):
        command = super().command(port, origin)
        if self.client == "h2":
            path = pathlib.Path(command[-1])
            text = path.read_text().replace(" backlog=4096;", " backlog=4096 http2;")
            path.write_text(text.replace("    access_log off;", "    access_log off;\n    http2_max_requests 1000000000;"))  # fmt: skip
        return command


class HAProxy2(HAProxy):
    def command(self, port, origin):
        command = super().command(port, origin)
        path = pathlib.Path(command[-1])
        text = path.read_text()
        if self.client == "h2":
            text = text.replace(f"bind 127.0.0.1:{port}", f"bind 127.0.0.1:{port} proto h2")
        if self.origin == "h2":
            text = text.replace(f"server origin 127.0.0.1:{origin}", f"server origin 127.0.0.1:{origin} proto h2")  # fmt: skip
        path.write_text(text)
        return command


class Nghttpx(Peer):
    name = "nghttpx"

    def __init__(self, root, folder):
        super().__init__(root, folder)
        self.variables = {"LD_LIBRARY_PATH": unpacked(root)["LD_LIBRARY_PATH"]}

    def command(self, port, origin):
        backend = f"127.0.0.1,{origin};;" + ("proto=h2" if self.origin == "h2" else "")
        return [
            program(self.root, "nghttpx"), f"--frontend=127.0.0.1,{port};no-tls",
            f"--backend={backend}", "--workers=1", "--no-ocsp", "--accesslog-file=/dev/null",
            f"--errorlog-file={self.folder}/error.log", "--backlog=4096", "--conf=/dev/null",
            f"--add-request-header=Authorization: Bearer {TOKEN}", "--log-level=FATAL",
        ]  # fmt: skip


class Envoy2(Envoy):
    def command(self, port, origin):
        command = super().command(port, origin)
        path = pathlib.Path(command[2])
        document = json.loads(path.read_text())
        static = document["static_resources"]
        manager = static["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
        manager["codec_type"] = "HTTP2" if self.client == "h2" else "HTTP1"
        if self.origin == "h2":
            static["clusters"][0]["typed_extension_protocol_options"] = {
                "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                    "@type": "type.googleapis.com/"
                    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                    "explicit_http_config": {"http2_protocol_options": {}},
                }
            }
        path.write_text(json.dumps(document, indent=2))
        return command


if __name__ == "__main__":
    sys.exit(main())
