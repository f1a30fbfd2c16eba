#!/usr/bin/env -S python3 -B
"""What a single small request does not show; `make bench-more` prepares what it needs.

WebSocket echoes, a thousand event streams, a connection for each request, TLS to the API, and how cost
grows with routes and credentials. Processor time of the proxy alone, per message, event or request;
medians of interleaved rounds, as in bench.py.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys

import measure
import peers
from measure import Trouble
from peers import TOKEN


class Ours(peers.Ours):
    """Ours, with as many routes and credentials as asked for; the last one is used."""

    routes = 1
    credentials = 1
    tls_origin = None

    def command(self, port, origin):
        if self.routes == 1 and self.credentials == 1 and not self.tls_origin:
            return super().command(port, origin)
        upstream = f"http://127.0.0.1:{origin}"
        trust = ""
        if self.tls_origin:
            upstream = f"https://127.0.0.1:{self.tls_origin.port}"
            trust = f", ca_file: {json.dumps(str(self.tls_origin.certificate))}"
        lines = [f'listen: ["127.0.0.1:{port}"]', "workers: 1", "credentials:"]
        for number in range(self.credentials):
            token = self.write(f"token-{number}", TOKEN + "\n")
            os.chmod(token, 0o600)
            lines.append(f"  c{number}: {{ token: {{ file: {json.dumps(token)} }} }}")
        lines.append("routes:")
        for number in range(self.routes):
            path = f"/route/number/{number}"
            name = f"c{number % self.credentials}"
            lines.append(f"  - {{ path: {path}, upstream: {upstream}, credential: {name}{trust} }}")
        name = f"c{self.credentials - 1}"
        lines.append(f"  - {{ path: /, upstream: {upstream}, credential: {name}{trust} }}")
        lines.append(f"state_dir: {json.dumps(str(self.folder / 'state'))}")
        return [self.binary, "serve", "--config", self.write("proxy.yaml", "\n".join(lines) + "\n")]

    @property
    def last_path(self):
        return f"/route/number/{self.routes - 1}/x" if self.routes > 1 else "/"


class Nginx(peers.Nginx):
    """nginx, which must be told to pass an upgrade on, and may speak TLS to the origin."""

    tls_origin = None

    def command(self, port, origin):
        command = super().command(port, origin)
        config = self.folder / "nginx.conf"
        text = config.read_text()
        text = text.replace(
            'proxy_set_header Connection "";',
            "proxy_set_header Upgrade $http_upgrade;\n"
            "            proxy_set_header Connection $connection_upgrade;\n"
            "            proxy_buffering off;",
        ).replace("    access_log off;", "    access_log off;\n    map $http_upgrade $connection_upgrade "
                  "{ default upgrade; '' ''; }", 1)
        if self.tls_origin:
            text = text.replace(f"server 127.0.0.1:{origin};", f"server 127.0.0.1:{self.tls_origin.port};")
            text = text.replace(
                "proxy_pass http://origin;",
                "proxy_pass https://origin;\n"
                "            proxy_ssl_verify on;\n"
                "            proxy_ssl_name origin;\n"
                f"            proxy_ssl_trusted_certificate {self.tls_origin.certificate};",
            )
        config.write_text(text)
        return command


class HAProxy(peers.HAProxy):
    """HAProxy, which would otherwise hold a response's head back until its body begins."""

    def command(self, port, origin):
        command = super().command(port, origin)
        config = self.folder / "haproxy.cfg"
        text = config.read_text().replace("    mode http\n", "    mode http\n    option http-no-delay\n", 1)
        config.write_text(text)
        return command


class TLSOrigin:
    """nginx again, as the API's TLS; on the cores that the measured proxy leaves free."""

    def __init__(self, root: pathlib.Path, folder: pathlib.Path, origin: int, stack):
        self.port = measure.free_port()
        folder = folder / "tls-origin"
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate = folder / "certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-subj", "/CN=origin", "-addext", "subjectAltName=IP:127.0.0.1,DNS:origin", "-days", "7",
             "-keyout", folder / "key.pem", "-out", self.certificate],
            check=True, capture_output=True,
        )
        nginx = peers.Nginx(root, folder)
        command = nginx.command(self.port, origin)
        config = pathlib.Path(command[-1])
        text = config.read_text().replace(f"listen 127.0.0.1:{self.port} backlog=4096;",
            f"listen 127.0.0.1:{self.port} ssl backlog=4096;\n        ssl_certificate "
            f"{self.certificate};\n        ssl_certificate_key {folder}/key.pem;")
        config.write_text(text.replace(f'proxy_set_header Authorization "Bearer {TOKEN}";', ""))
        with measure.pinned(proxy=False):
            process = subprocess.Popen(command, start_new_session=True)
        stack.callback(process.wait)
        stack.callback(process.terminate)


class More:
    def __init__(self, options, stack):
        self.options = options
        self.stack = stack
        self.folder = options.root / "more"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.origin = self.serve([str(options.root / "bin/origin"), TOKEN])
        self.traffic = str(options.root / "bin/traffic")
        self.long_origin = self.serve([self.traffic, "serve", TOKEN])
        self.tls = TLSOrigin(options.root, self.folder, self.origin, stack)
        self.rows: dict[str, dict[str, float]] = {}

    def serve(self, command):
        with measure.pinned(proxy=False):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        return int(process.stdout.readline())

    def peers(self, **changes):
        ours = Ours(self.options.root, self.folder, self.options.binary)
        nginx = Nginx(self.options.root, self.folder)
        haproxy = HAProxy(self.options.root, self.folder)
        for peer in (ours, nginx):
            for name, value in changes.items():
                setattr(peer, name, value)
        return ours, nginx, haproxy

    def compare(self, title, chosen, origin, cost, begin=None):
        """One row: each peer started once, then measured in turns."""
        self.note(title)
        with contextlib.ExitStack() as stack:
            live = {}
            for peer in chosen:
                port = measure.free_port()
                running = measure.Running(
                    peer.command(port, origin), peer.environment(), peer.folder / "output")
                stack.callback(running.stop)
                self.wait(running, port)
                if begin:
                    begin(port, stack)
                live[peer.name] = running, port, peer
            found = {name: [] for name in live}
            for _ in range(self.options.rounds):
                for name, (running, port, peer) in live.items():
                    count, before = cost(port, peer, running)
                    spent = measure.processor_time(running.pid) - before
                    found[name].append((spent.user + spent.system) / count)
        self.rows[title] = {name: statistics.median(all_) for name, all_ in found.items()}

    @staticmethod
    def wait(running, port):
        """Until it has answered once: it listens before it has read ten thousand routes."""
        for _ in range(2000):
            with contextlib.suppress(OSError):
                status, _ = measure.ask(port)
                if status == 200:
                    return
                raise Trouble(f"the first answer was {status}: {running.said()}")
            measure.time.sleep(0.005)
        raise Trouble(f"not ready: {running.said()}")

    def run_traffic(self, mode, count):
        def cost(port, _, running):
            command = [self.traffic, mode, str(port), str(count), str(self.options.seconds)]
            with measure.pinned(proxy=False):
                traffic = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            is_ready = traffic.stdout.readline() == "ready\n"
            before = measure.processor_time(running.pid)
            said, complaint = traffic.communicate(timeout=60 + self.options.seconds)
            if traffic.returncode != 0 or not is_ready:
                raise Trouble(f"traffic says: {complaint.strip()}")
            return int(said), before
        return cost

    @staticmethod
    def hold(count):
        """Opens that many connections, each of which has had an answer, and leaves them waiting."""
        def begin(port, stack):
            for _ in range(count):
                connection = stack.enter_context(measure.socket.create_connection(("127.0.0.1", port)))
                measure.exchange(connection, port)
        return begin

    def run_wrk(self, *fields, path="/"):
        def cost(port, peer, running):
            before = measure.processor_time(running.pid)
            target = peer.last_path if path is None else path
            command = ["wrk", "-t1", f"-c{self.options.connections}", f"-d{self.options.seconds}s",
                       *fields, f"http://127.0.0.1:{port}{target}"]
            with measure.pinned(proxy=False):
                said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            wrong = measure.re.search(r"Non-2xx or 3xx responses.*", said)
            if wrong:
                raise Trouble(f"wrk says: {wrong.group(0)}")
            return int(measure.re.search(r"(\d+) requests in", said).group(1)), before
        return cost

    def run(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        ours, nginx, haproxy = self.peers()
        self.compare("WebSocket echo, 100 connections", (ours, nginx, haproxy), self.long_origin,
                     self.run_traffic("echo", 100))
        self.compare("event of 1,000 streams", (ours, nginx, haproxy), self.long_origin,
                     self.run_traffic("events", 1000))
        self.compare("connection per request", (ours, nginx, haproxy), self.origin,
                     self.run_wrk("-H", "Connection: close"))
        ours, nginx, _ = self.peers(tls_origin=self.tls)
        self.compare("TLS to the API", (ours, nginx), self.origin, self.run_wrk())
        for count in (1, 10, 100, 1000, 10_000):
            chosen = self.peers(routes=count)[:1]
            self.compare(f"{count} routes", chosen, self.origin, self.run_wrk(path=None))
        for count in (1, 10, 100, 1000):
            chosen = self.peers(credentials=count)[:1]
            self.compare(f"{count} credentials", chosen, self.origin, self.run_wrk())
        ours = self.peers()[:1]
        for count in (0, 1000, 10_000):
            self.compare(f"{count} idle connections", ours, self.origin, self.run_wrk(), self.hold(count))
        path = self.options.root / "more.json"
        path.write_text(json.dumps(self.rows, indent=2) + "\n")
        self.show()

    def show(self):
        print(f"\n{'processor time, µs':<36}{'ours':>8}{'nginx':>8}{'haproxy':>9}{'ours/best':>11}")
        for title, row in self.rows.items():
            cells = [f"{row[n] * 1e6:.1f}" if n in row else "–" for n in ("ours", "nginx", "haproxy")]
            others = [value for name, value in row.items() if name != "ours"]
            ratio = f"{row['ours'] / min(others):.2f}" if others else ""
            print(f"{title:<36}{cells[0]:>8}{cells[1]:>8}{cells[2]:>9}{ratio:>11}")

    @staticmethod
    def note(text):
        print(f"bench: {text}", file=sys.stderr, flush=True)


def main():
    build = pathlib.Path(__file__).resolve().parents[2] / ".build"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--root", type=pathlib.Path, default=build / "bench")
    parser.add_argument("--binary", type=pathlib.Path, default=build / "release/proxy")
    parser.add_argument("--quick", action="store_true", help="one short round")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 1
    measure.raise_file_limit()
    with contextlib.ExitStack() as stack:
        More(options, stack).run()


if __name__ == "__main__":
    main()
