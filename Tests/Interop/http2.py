#!/usr/bin/env python3
"""Other people's HTTP/2 clients before the proxy: h2spec on both kinds of listener, nghttp and h2load.

    http2.py PROXY [--h2spec PROGRAM]

Ends with 0 when h2spec passes all but the tests that are named below, each with the reason why no server in this
place could, and when nghttp2's clients get every answer.
"""

import argparse
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree

from running_proxy import TOKEN, RunningProxy

# On a port that also speaks HTTP/1.1 an invalid preface is a request line of HTTP/1.1, and answered as such.
EXPECTED_FAILURES = {"plain": ["Sends invalid connection preface"], "tls": []}
TESTS = 146
LOAD = 20_000


class Origin(http.server.ThreadingHTTPServer):
    """Answers every request that has the credential with the length of its body."""

    daemon_threads = True
    request_queue_size = 1024

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            count = 0
            if "chunked" in self.headers.get("Transfer-Encoding", ""):
                while size := int(self.rfile.readline(), 16):
                    count += len(self.rfile.read(size))
                    self.rfile.readline()
                while self.rfile.readline().strip():
                    pass
            else:
                count = len(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            good = self.headers.get("Authorization") == f"Bearer {TOKEN}"
            body = b"%d bytes\n" % count if self.command != "HEAD" else b""
            self.send_response(200 if good else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_HEAD = do_OPTIONS = answer

        def log_message(self, *_) -> None:
            pass

    def handle_error(self, *_) -> None:
        """Many of the tests break off what they have begun."""

    def __enter__(self) -> "Origin":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.shutdown()
        self.server_close()


def h2spec(program: str, kind: str, port: int) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        arguments = ["-h", "127.0.0.1", "-p", str(port), "-o", "5", "-j", str(report)]
        if kind == "tls":
            arguments += ["-t", "-k"]
        subprocess.run([program, *arguments], capture_output=True, text=True)
        cases = list(xml.etree.ElementTree.parse(report).iter("testcase"))
    failed = [case.get("classname") for case in cases if case.find("failure") is not None
              or case.find("error") is not None]  # fmt: skip
    skipped = [case.get("classname") for case in cases if case.find("skipped") is not None]
    good = sorted(failed) == sorted(EXPECTED_FAILURES[kind]) and len(cases) == TESTS
    passed = len(cases) - len(failed) - len(skipped)
    print(f"http2: h2spec, {kind}: {len(cases)} tests, {passed} passed, {len(skipped)} skipped")
    for name in failed:
        word = "as it must be here" if name in EXPECTED_FAILURES[kind] else "error"
        print(f"http2: h2spec, {kind}: failed, {word}: {name}")
    return good


def check(good: bool, what: str) -> bool:
    print(f"http2: {what}: {'as it should be' if good else 'error'}")
    return good


def nghttp(url: str, options: list[str], wanted: str, what: str) -> bool:
    said = subprocess.run(["nghttp", *options, url], capture_output=True, text=True)
    return check(said.stdout == wanted, f"nghttp {what} {url.split(':')[0]}")


def h2load(url: str, options: list[str], what: str) -> bool:
    said = subprocess.run(
        ["h2load", f"-n{LOAD}", "-c16", *options, url], capture_output=True, text=True
    ).stdout
    found = re.search(r"status codes: (\d+) 2xx", said)
    return check(bool(found) and int(found.group(1)) == LOAD, f"h2load {LOAD} requests {what}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("proxy")
    parser.add_argument("--h2spec", default=shutil.which("h2spec"))
    options = parser.parse_args()
    results = []
    with Origin(("127.0.0.1", 0), Origin.Handler) as origin, tempfile.NamedTemporaryFile() as body:
        body.write(os.urandom(3_000_000))
        body.flush()
        with RunningProxy(options.proxy, origin.server_port, tls=True) as proxy:
            if options.h2spec:
                results.append(h2spec(options.h2spec, "plain", proxy.port))
                results.append(h2spec(options.h2spec, "tls", proxy.secure_port))
            for url in (f"http://127.0.0.1:{proxy.port}/", f"https://127.0.0.1:{proxy.secure_port}/"):
                kind = url.split(":")[0]
                results += [
                    nghttp(url, [], "0 bytes\n", "asks over"),
                    nghttp(url, ["--continuation"], "0 bytes\n", "continues a head over"),
                    nghttp(url, ["-d", body.name], "3000000 bytes\n", "uploads over"),
                    nghttp(url, ["-d", body.name, "--trailer", "x: y"], "3000000 bytes\n",
                           "uploads with trailers over"),  # fmt: skip
                    nghttp(url, ["-m", "20"], "0 bytes\n" * 20, "asks 20 times over"),
                    h2load(url, ["-m32"], f"over {kind}"),
                ]
            results.append(h2load(f"http://127.0.0.1:{proxy.port}/", ["--h1"], "over HTTP/1.1"))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
