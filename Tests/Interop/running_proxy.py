"""One proxy of the given binary in front of an origin, with a folder of its own, for the length of a `with`."""

import pathlib
import signal
import socket
import subprocess
import tempfile
import time

TOKEN = "interop-credential"


class RunningProxy:
    """Listens on `port` without TLS, and with `tls` on `secure_port`; adds `Bearer TOKEN` to requests."""

    def __init__(self, program: str, origin: int, lines: str = "", tls: bool = False):
        self.program, self.origin, self.lines = program, origin, lines
        self.port = free_port()
        self.secure_port = free_port() if tls else None

    def __enter__(self) -> "RunningProxy":
        self.kept = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.kept.name)
        token = folder / "token"
        token.write_text(TOKEN + "\n")
        token.chmod(0o600)
        listen = f'listen:\n  - "127.0.0.1:{self.port}"\n'
        if self.secure_port:
            subprocess.run([self.program, "certificate", "--dir", folder], check=True, capture_output=True)
            listen += (
                f'  - address: "127.0.0.1:{self.secure_port}"\n    tls: {{ certificate: '
                f'{folder / "certificate.pem"}, key: {folder / "key.pem"} }}\n'
            )
        config = folder / "proxy.yaml"
        config.write_text(
            f"{listen}upstream: http://127.0.0.1:{self.origin}\n{self.lines}"
            f"credential:\n  token: {{ file: {token} }}\nstate_dir: {folder / 'state'}\n"
        )
        self.log = open(folder / "log", "w+")
        self.process = subprocess.Popen(
            [self.program, "serve", "--config", str(config)], stderr=self.log, stdout=self.log
        )
        for port in filter(None, [self.port, self.secure_port]):
            self.wait_for(port)
        return self

    def wait_for(self, port: int) -> None:
        deadline = time.monotonic() + 20
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port)).close()
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"the proxy does not listen: {self.said()}") from None
                time.sleep(0.02)

    def said(self) -> str:
        self.log.flush()
        return pathlib.Path(self.log.name).read_text()

    def __exit__(self, kind, *_) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=40)
        finally:
            self.process.kill()
            said = self.said()
            self.log.close()
            self.kept.cleanup()
        if kind is None and status != 0:
            raise SystemExit(f"the proxy ended with {status}: {said}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
