#!/usr/bin/env python3
"""The Autobahn WebSocket test suite against one echo server, once straight and once through the proxy.

    websocket.py PROXY WSTEST [--cases 1.*,2.*] [--all]

WSTEST is the program of the suite, of PyPI's autobahntestsuite. Each case must come out the same both ways: how the server
behaved, how the connection was closed and with which code. A case that differs is run again by itself, up to
three times, since a few of them race with the server's own timing even without a proxy. On the way through the
proxy the server demands the credential that only the proxy has.

The chapters on compression send a thousand messages in each case, in 18 sizes, which takes the suite the better
part of an hour; two sizes of each are enough here, all are sent with --all.
"""

import argparse
import asyncio
import collections
import http
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

os.environ["WEBSOCKETS_MAX_FRAGMENTS"] = "1000000"  # the suite sends messages in more than are usual
import websockets.asyncio.server  # noqa: E402
from running_proxy import TOKEN, RunningProxy  # noqa: E402

CASES = [f"{chapter}.*" for chapter in range(1, 11)] + [
    f"{chapter}.{kind}.{size}"
    for chapter, kinds in ((12, 5), (13, 7)) for kind in range(1, kinds + 1) for size in (1, 5)
]  # fmt: skip
CASES_MIN = 320
AGAIN = 3


class EchoServer:
    """Sends every message back; below /proxied only to whoever has the credential."""

    def __enter__(self) -> "EchoServer":
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(started,))
        self.thread.start()
        started.wait()
        return self

    def run(self, started: threading.Event) -> None:
        self.loop.run_until_complete(self.serve(started))

    async def serve(self, started: threading.Event) -> None:
        self.ended = asyncio.Event()
        async with websockets.asyncio.server.serve(
            self.echo, "127.0.0.1", 0, max_size=None, process_request=self.check, ping_interval=None
        ) as server:
            self.port = server.sockets[0].getsockname()[1]
            started.set()
            await self.ended.wait()

    @staticmethod
    async def echo(connection) -> None:
        async for message in connection:
            await connection.send(message)

    @staticmethod
    def check(connection, request):
        if request.path.startswith("/proxied"):
            if request.headers.get("Authorization") != f"Bearer {TOKEN}":
                return connection.respond(http.HTTPStatus.UNAUTHORIZED, "no credential\n")
        return None

    def __exit__(self, *_) -> None:
        self.loop.call_soon_threadsafe(self.ended.set)
        self.thread.join()


def run(wstest: str, urls: dict[str, str], cases: list[str]) -> dict[str, dict[str, dict]]:
    with tempfile.TemporaryDirectory() as folder:
        reports = pathlib.Path(folder) / "reports"
        spec = pathlib.Path(folder) / "spec.json"
        servers = [{"agent": agent, "url": url} for agent, url in urls.items()]
        spec.write_text(
            json.dumps({"outdir": str(reports), "servers": servers, "cases": cases,
                        "exclude-cases": [], "exclude-agent-cases": {}})
        )  # fmt: skip
        said = subprocess.run(
            [pathlib.Path(wstest).absolute(), "--mode", "fuzzingclient", "--spec", str(spec)],
            cwd=folder, capture_output=True, text=True,
        )  # fmt: skip
        if not (reports / "index.json").exists():
            raise SystemExit(f"websocket: the suite did not run: {said.stdout} {said.stderr}")
        return json.loads((reports / "index.json").read_text())


def outcome(result: dict) -> tuple:
    return result["behavior"], result["behaviorClose"], result["remoteCloseCode"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("proxy")
    parser.add_argument("wstest")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    with EchoServer() as server, RunningProxy(options.proxy, server.port) as proxy:
        urls = {
            "direct": f"ws://127.0.0.1:{server.port}/direct",
            "proxied": f"ws://127.0.0.1:{proxy.port}/proxied",
        }
        results = run(options.wstest, urls, ["*"] if options.all else options.cases.split(","))
        counts = {agent: collections.Counter(map(outcome, results[agent].values())) for agent in urls}
        different = []
        for case in results["direct"]:
            turn = results
            for _ in range(AGAIN):
                if outcome(turn["direct"][case]) == outcome(turn["proxied"][case]):
                    break
                turn = run(options.wstest, urls, [case])
            else:
                if outcome(turn["direct"][case]) != outcome(turn["proxied"][case]):
                    different.append((case, *(outcome(turn[agent][case]) for agent in urls)))
    for agent in urls:
        for (behavior, close, code), count in sorted(counts[agent].items(), key=str):
            print(f"websocket: {agent:8} {count:4} {behavior}, close {close}, code {code}")
    for case, direct, proxied in different:
        print(f"websocket: error: case {case}: {direct} became {proxied}")
    total = len(results["direct"])
    print(f"websocket: {total} cases, {len(different)} differ")
    enough = total >= CASES_MIN or options.cases != parser.get_default("cases")
    return 0 if enough and not different and len(results["proxied"]) == total else 1


if __name__ == "__main__":
    sys.exit(main())
