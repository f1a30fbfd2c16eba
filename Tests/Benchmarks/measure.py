"""What is measured, and how: processor time and memory from /proc, load from wrk and curl.

Nothing here knows one proxy from another. Times are seconds, sizes bytes, unless a name says more.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time

TICK = 1 / os.sysconf("SC_CLK_TCK")
KIB = 1024
REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n"
DOCUMENT_BYTES = 140


class Trouble(Exception):
    """A run that does not count, in words for the person who started it."""


# Processes -----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class ProcessorTime:
    user: float
    system: float

    def __sub__(self, earlier: "ProcessorTime") -> "ProcessorTime":
        return ProcessorTime(self.user - earlier.user, self.system - earlier.system)


def family(root: int) -> list[int]:
    """A process and all that it started, its threads being counted with each."""
    parents = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(folder.name)] = int(fields_of(folder / "stat")[1])
    members = [root]
    for member in members:
        members += [child for child, parent in parents.items() if parent == member]
    return members


def fields_of(stat: pathlib.Path) -> list[str]:
    """The fields of proc(5)'s `stat` after the name, which may contain blanks and brackets."""
    return stat.read_text().rpartition(")")[2].split()


def processor_time(root: int) -> ProcessorTime:
    """utime and stime of the whole family; reaped children are not counted."""
    user = system = 0
    for member in family(root):
        with contextlib.suppress(OSError):
            fields = fields_of(pathlib.Path(f"/proc/{member}/stat"))
            user += int(fields[11])
            system += int(fields[12])
    return ProcessorTime(user * TICK, system * TICK)


def memory(root: int, name: str = "VmRSS") -> int:
    """Of the largest process of the family, which is the one that serves."""
    largest = 0
    for member in family(root):
        with contextlib.suppress(OSError):
            status = pathlib.Path(f"/proc/{member}/status").read_text()
            found = re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
            largest = max(largest, int(found.group(1)) * KIB if found else 0)
    return largest


def forget_peak(root: int) -> None:
    """Makes VmHWM start again from what is resident now (proc(5), clear_refs)."""
    for member in family(root):
        with contextlib.suppress(OSError):
            pathlib.Path(f"/proc/{member}/clear_refs").write_text("5")


class Running:
    """A started process: on the first core when there are several, in a session of its own."""

    def __init__(self, command: list[str], variables: dict[str, str], log: pathlib.Path):
        self.log = log
        self.started = time.monotonic()
        with contextlib.ExitStack() as stack:
            stack.enter_context(pinned(proxy=True))
            output = stack.enter_context(log.open("wb"))
            self.process = subprocess.Popen(
                command,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.pid = self.process.pid

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGTERM)
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.process.wait()

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]


@contextlib.contextmanager
def pinned(proxy: bool):
    """What is started inside runs on the proxy's core, or on those that the proxy leaves free."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(0, cores[:1] if proxy else cores[1:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def raise_file_limit() -> int:
    """Lets this process and its children open as many files as the system allows."""
    wanted = 50_000
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# Single requests -----------------------------------------------------------------------------


def exchange(connection: socket.socket, port: int) -> tuple[int, bytes, float]:
    """One request on an open connection: status, body, and when the first byte came."""
    connection.sendall(REQUEST % port)
    held = connection.recv(65536)
    first = time.monotonic()
    while True:
        head, blank, body = held.partition(b"\r\n\r\n")
        found = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        if blank and found and len(body) >= int(found.group(1)):
            return int(head.split(b" ", 2)[1]), body, first
        more = connection.recv(65536)
        if not more:
            raise Trouble(f"port {port} closed in the middle of an answer: {held!r}")
        held += more


def ask(port: int) -> tuple[int, bytes]:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        status, body, _ = exchange(connection, port)
        return status, body


@dataclasses.dataclass
class Start:
    ready: float
    """From the start of the process until a connection is accepted."""
    first_byte: float
    """From the start of the process until the first byte of a good answer."""


def wait_for_start(running: Running, port: int, patience: float = 20) -> Start:
    """Knocks until the port opens, then asks at once."""
    while time.monotonic() - running.started < patience:
        if running.process.poll() is not None:
            raise Trouble(f"ended with {running.process.returncode}: {running.said()}")
        connection = socket.socket()
        if connection.connect_ex(("127.0.0.1", port)) != 0:
            connection.close()
            time.sleep(0.0002)
            continue
        ready = time.monotonic()
        with connection:
            connection.settimeout(patience)
            status, body, first = exchange(connection, port)
        if status != 200 or len(body) != DOCUMENT_BYTES:
            raise Trouble(f"the first answer was {status} {body!r}: {running.said()}")
        return Start(ready - running.started, first - running.started)
    raise Trouble(f"not ready after {patience} s: {running.said()}")


# Load ----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Load:
    requests: int
    per_second: float
    p50: float
    p99: float
    user: float
    """Processor time of the proxy per request, as `system`."""
    system: float
    resident: int

    @property
    def processor(self) -> float:
        return self.user + self.system


def wrk(url: str, connections: int, seconds: float) -> str:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--latency", url]
    with pinned(proxy=False):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def load(root: int, port: int, connections: int, seconds: float) -> Load:
    """What one run of wrk costs the proxy. Any answer but the right one spoils the run."""
    before = processor_time(root)
    said = wrk(f"http://127.0.0.1:{port}/", connections, seconds)
    spent = processor_time(root) - before
    wrong = re.search(r"Non-2xx or 3xx responses.*|Socket errors.*", said)
    requests = int(re.search(r"(\d+) requests in", said).group(1))
    if wrong or requests == 0:
        raise Trouble(f"wrk says: {wrong.group(0).strip() if wrong else 'no answers'}")
    return Load(
        requests=requests,
        per_second=float(re.search(r"Requests/sec:\s+([\d.]+)", said).group(1)),
        p50=percentile(said, 50),
        p99=percentile(said, 99),
        user=spent.user / requests,
        system=spent.system / requests,
        resident=memory(root),
    )


def percentile(said: str, share: int) -> float:
    found = re.search(rf"^\s+{share}%\s+([\d.]+)(us|ms|s|m)$", said, re.MULTILINE)
    if not found:
        raise Trouble(f"wrk names no {share}th percentile: {said}")
    return float(found.group(1)) * {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60}[found.group(2)]


@dataclasses.dataclass
class Stream:
    seconds: float
    processor_per_gib: float
    peak: int


def stream(root: int, port: int, size: int, upload: pathlib.Path | None) -> Stream:
    """Moves `size` bytes down, or the file `upload` of that size up, by curl."""
    url = f"http://127.0.0.1:{port}/"
    if upload:
        transfer = ["-T", str(upload), "-H", "Expect:", url]
    else:
        transfer = ["-o", "/dev/null", "-w", "%{size_download}", f"{url}stream/{size}"]
    forget_peak(root)
    before, began = processor_time(root), time.monotonic()
    with pinned(proxy=False):
        result = subprocess.run(
            ["curl", "-sSf", "--noproxy", "*", *transfer], capture_output=True, text=True
        )
    took, spent = time.monotonic() - began, processor_time(root) - before
    expected = f'{{"received":{size}}}' if upload else str(size)
    if result.returncode != 0 or result.stdout != expected:
        raise Trouble(f"stream: {result.stdout!r} {result.stderr.strip()}")
    gib = size / 2**30
    return Stream(took, (spent.user + spent.system) / gib, memory(root, "VmHWM"))


def idle_connections(root: int, port: int, count: int) -> int:
    """Resident memory with `count` client connections that have had one answer each."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port), timeout=30)
            stack.enter_context(connection)
            status, _, _ = exchange(connection, port)
            if status != 200:
                raise Trouble(f"idle connections: an answer was {status}")
        time.sleep(0.5)
        return memory(root)
