#!/usr/bin/env -S python3 -B
"""Compares the proxy with its neighbours on this machine; `make bench` prepares what it needs.

Every proxy stands before the same origin, which demands a credential, and serves the same clients.
Rounds are interleaved, so that what else the machine does falls on all alike; medians are shown.
The one figure that hardly depends on a quiet machine is processor time per request.
"""

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import time

import measure
import profile_ours
import report
from measure import Trouble
from peers import PEERS, TOKEN, Ours, Peer

GIB = 2**30
# How long after its only answer a proxy counts as idle.
IDLE_SECONDS = 3


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    measure.raise_file_limit()
    with contextlib.ExitStack() as stack:
        bench = Bench(options, stack)
        if options.profile:
            return profile_ours.run(options, bench.start_ours, bench.origin, options.root)
        return bench.run()


def arguments() -> argparse.Namespace:
    here = pathlib.Path(__file__).resolve()
    build = here.parents[2] / ".build"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", metavar="NAME,…", default=",".join(PEERS), help="of " + ", ".join(PEERS)
    )
    parser.add_argument("--rounds", type=int, default=7, help="of each measurement (7)")
    parser.add_argument("--seconds", type=int, default=4, help="of load in each round (4)")
    parser.add_argument("--connections", type=int, default=32, help="of the load (32)")
    parser.add_argument("--idle", type=int, default=10_000, help="idle connections (10000)")
    parser.add_argument("--quick", action="store_true", help="two short rounds, a small stream")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument(
        "--profile", choices=["perf", "callgrind", "syscalls"], help="of ours alone, no comparison"
    )
    parser.add_argument("--root", type=pathlib.Path, default=build / "bench")
    parser.add_argument("--binary", type=pathlib.Path, default=build / "release/proxy")
    options = parser.parse_args()
    options.stream_bytes = GIB
    if options.quick:
        options.rounds, options.seconds = 2, 1
        options.stream_bytes, options.idle = GIB // 8, 1000
    options.names = [name.strip() for name in options.only.split(",")]
    if unknown := set(options.names) - set(PEERS):
        parser.error(f"no proxy is called {', '.join(sorted(unknown))}")
    return options


class Bench:
    def __init__(self, options: argparse.Namespace, stack: contextlib.ExitStack):
        self.options = options
        self.stack = stack
        self.folder = options.root / "run"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.origin = self.start_origin()
        self.results: dict[str, dict] = {}

    # Stages ----------------------------------------------------------------------------------

    def run(self) -> int:
        peers = [peer for name in self.options.names if (peer := self.prepared(name))]
        loads, streams = [], []
        stages = [("start", self.measure_start), ("idle connections", self.measure_idle)]
        for title, stage in stages:
            self.attempt(title, peers, stage)
        with contextlib.ExitStack() as running:
            live = self.start_all(peers, running)
            loads = self.rounds("load", live, self.measure_load)
            streams = self.rounds("stream", live, self.measure_stream, self.stream_rounds)
        self.collect(loads, streams)
        return self.finish()

    @property
    def stream_rounds(self) -> int:
        return min(self.options.rounds, 3)

    def prepared(self, name: str) -> Peer | None:
        try:
            folder = self.folder
            binary = self.options.binary
            root = self.options.root
            kind = PEERS[name]
            is_ours = issubclass(kind, Ours)
            peer = kind(root, folder, binary) if is_ours else kind(root, folder)
            self.results[name] = {"version": peer.version()}
            return peer
        except (OSError, StopIteration, subprocess.CalledProcessError) as error:
            say(f"{name}: left out, it does not run: {error}")
            return None

    def measure_start(self, peer: Peer) -> None:
        """Starts it once a round: time until ready, until a first byte, memory when idle."""
        starts, resident = [], []
        for _ in range(self.options.rounds):
            with contextlib.ExitStack() as stack:
                running, _, start = self.start(peer, stack)
                starts.append(start)
                time.sleep(IDLE_SECONDS)
                resident.append(measure.memory(running.pid))
        self.results[peer.name] |= {
            "ready_seconds": statistics.median(start.ready for start in starts),
            "first_byte_seconds": statistics.median(start.first_byte for start in starts),
            "idle_bytes": statistics.median(resident),
        }

    def measure_idle(self, peer: Peer) -> None:
        with contextlib.ExitStack() as stack:
            running, port, _ = self.start(peer, stack)
            bytes_held = measure.idle_connections(running.pid, port, self.options.idle)
            self.results[peer.name]["idle_connections_bytes"] = bytes_held

    def measure_load(self, running: measure.Running, port: int) -> measure.Load:
        options = self.options
        return measure.load(running.pid, port, options.connections, options.seconds)

    def measure_stream(self, running: measure.Running, port: int) -> dict[str, measure.Stream]:
        size = self.options.stream_bytes
        source = self.folder / "upload"
        with source.open("wb") as file:
            file.truncate(size)
        return {
            "down": measure.stream(running.pid, port, size, upload=None),
            "up": measure.stream(running.pid, port, size, upload=source),
        }

    # Starting --------------------------------------------------------------------------------

    def start_origin(self) -> int:
        command = [str(self.options.root / "bin/origin"), TOKEN]
        with measure.pinned(proxy=False):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        port = int(process.stdout.readline())
        status, _ = measure.ask(port)
        if status != 401:
            raise SystemExit(f"the origin answers {status} to a request without a credential")
        return port

    def start(self, peer: Peer, stack: contextlib.ExitStack):
        """Starts it and proves that it injects: the origin answers 200 to nothing else."""
        port = measure.free_port()
        command = peer.command(port, self.origin)
        running = measure.Running(command, peer.environment(), peer.folder / "output")
        stack.callback(running.stop)
        return running, port, measure.wait_for_start(running, port)

    def start_ours(self, stack: contextlib.ExitStack, wrapper: list[str], patience: float = 60):
        """Ours under another program, such as a profiler."""
        ours = Ours(self.options.root, self.folder, self.options.binary)
        port = measure.free_port()
        command = wrapper + ours.command(port, self.origin)
        running = measure.Running(command, ours.environment(), ours.folder / "output")
        stack.callback(running.stop)
        measure.wait_for_start(running, port, patience)
        return running, port

    def start_all(self, peers: list[Peer], stack: contextlib.ExitStack) -> dict:
        live = {}
        for peer in peers:
            with self.noted(peer.name):
                running, port, _ = self.start(peer, stack)
                live[peer.name] = running, port
        return live

    # Rounds ----------------------------------------------------------------------------------

    def attempt(self, title: str, peers: list[Peer], stage) -> None:
        for peer in peers:
            say(f"{title}: {peer.name}")
            with self.noted(peer.name):
                stage(peer)

    def rounds(self, title: str, live: dict, stage, count: int | None = None) -> list[dict]:
        """Interleaved, and in each round another one begins."""
        names = list(live)
        kept = []
        for number in range(count or self.options.rounds):
            say(f"{title}: round {number + 1}")
            turn = number % max(len(names), 1)
            results = {}
            for name in names[turn:] + names[:turn]:
                with self.noted(name):
                    results[name] = stage(*live[name])
            kept.append(results)
        return kept

    @contextlib.contextmanager
    def noted(self, name: str):
        try:
            yield
        except (Trouble, OSError, subprocess.CalledProcessError) as error:
            say(f"{name}: {error}")
            self.results[name].setdefault("troubles", []).append(str(error))

    # Results ---------------------------------------------------------------------------------

    def collect(self, loads: list[dict], streams: list[dict]) -> None:
        for name, result in self.results.items():
            mine = [round_[name] for round_ in loads if name in round_]
            if mine:
                result["load"] = {
                    field: statistics.median(getattr(one, field) for one in mine)
                    for field in ("processor", "user", "system", "per_second", "p50", "p99")
                } | {"resident_bytes": max(one.resident for one in mine)}
                result["rounds"] = [dataclasses.asdict(one) for one in mine]
            for way in ("down", "up"):
                mine = [round_[name][way] for round_ in streams if name in round_]
                if mine:
                    result[way] = {
                        "processor_per_gib": statistics.median(s.processor_per_gib for s in mine),
                        "seconds": statistics.median(s.seconds for s in mine),
                        "peak_bytes": max(s.peak for s in mine),
                    }
        if "ours" in self.results:
            stripped = self.options.root / "stripped"
            subprocess.run(["strip", "-o", stripped, self.options.binary], check=True)
            self.results["ours"]["binary_bytes"] = stripped.stat().st_size

    def finish(self) -> int:
        verdicts = report.verdicts(self.results)
        document = {
            "at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": {
                "system": platform.platform(),
                "processor": processor_name(),
                "cores": os.cpu_count(),
                "load_average": os.getloadavg(),
            },
            "settings": {
                name: getattr(self.options, name)
                for name in ("rounds", "seconds", "connections", "idle", "stream_bytes")
            },
            "proxies": self.results,
            "ratios": report.ratios(self.results),
            "targets": [dataclasses.asdict(verdict) for verdict in verdicts],
        }
        path = self.options.root / "results.json"
        path.write_text(json.dumps(document, indent=2) + "\n")
        print(report.text(document, verdicts))
        print(f"\nwritten to {os.path.relpath(path)}")
        troubled = any("troubles" in result for result in self.results.values())
        missed = any(not verdict.holds for verdict in verdicts)
        return 1 if troubled or (self.options.check and missed) else 0


def processor_name() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
