"""Where our own time goes: `perf` samples, callgrind's instruction counts, or system calls.

Callgrind counts the same for the same work however busy the machine is, which makes it the tool for
comparing two versions of a change.
"""

import contextlib
import pathlib
import re
import shutil
import subprocess
import sys
import time

import measure

PACKAGES = {"perf": "linux-perf", "valgrind": "valgrind", "strace": "strace"}
REQUESTS = 2000


def run(options, start_ours, origin: int, root: pathlib.Path) -> int:
    tool = {"perf": "perf", "callgrind": "valgrind", "syscalls": "strace"}[options.profile]
    if not shutil.which(tool):
        print(f"bench: error: needs {tool}", file=sys.stderr)
        print(f"bench: hint: apt-get install {PACKAGES[tool]}", file=sys.stderr)
        return 1
    with contextlib.ExitStack() as stack:
        return {"perf": perf, "callgrind": callgrind, "syscalls": syscalls}[options.profile](
            options, start_ours, stack, root
        )


def perf(options, start_ours, stack, root) -> int:
    """Samples by processor clock, so that it works where the machine has no counters."""
    running, port = start_ours(stack, [])
    data = root / "perf.data"
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "4999", "-g"]
    command += ["-p", str(running.pid), "-o", str(data)]
    recording = subprocess.Popen(command)
    time.sleep(0.3)
    load = measure.load(running.pid, port, options.connections, options.seconds)
    recording.send_signal(2)
    recording.wait()
    print(f"{load.processor * 1e6:.1f} µs per request: {load.user * 1e6:.1f} user")
    shown = ["perf", "report", "-i", str(data), "--stdio", "--no-children", "-g", "none"]
    shown += ["--percent-limit", "0.4", "--sort", "dso,symbol"]
    said = subprocess.run(shown, capture_output=True, text=True).stdout
    print("\n".join(line for line in said.splitlines() if line and not line.startswith("#")))
    print(f"the call graph: perf report -i {data}")
    return 0


def callgrind(options, start_ours, stack, root) -> int:
    """Instructions per request, after a first thousand that warms everything up."""
    output = root / "callgrind.out"
    for old in root.glob("callgrind.out*"):
        old.unlink()
    wrapper = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}"]
    running, port = start_ours(stack, wrapper)
    serve(port, options.connections, 1000)
    control(running.pid, "--zero")
    serve(port, options.connections, REQUESTS)
    control(running.pid, "--dump")
    shown = ["callgrind_annotate", "--auto=no", "--threshold=95", f"{output}.1"]
    said = subprocess.run(shown, capture_output=True, text=True).stdout
    total = re.search(r"([\d,]+) .*PROGRAM TOTALS", said)
    if total:
        count = int(total.group(1).replace(",", ""))
        print(f"{count / REQUESTS:.0f} instructions per request, without the kernel's")
    print("\n".join(said.splitlines()[:60]))
    return 0


def control(process: int, what: str) -> None:
    command = ["callgrind_control", what, str(process)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def serve(port: int, connections: int, count: int) -> None:
    """A fixed number of requests, spread over connections that stay open."""
    import socket

    with contextlib.ExitStack() as stack:
        open_ = []
        for _ in range(connections):
            connection = socket.create_connection(("127.0.0.1", port), timeout=60)
            open_.append(stack.enter_context(connection))
        for number in range(count):
            measure.exchange(open_[number % connections], port)


def syscalls(options, start_ours, stack, root) -> int:
    """How many system calls of each kind a request costs."""
    output = root / "strace"
    running, port = start_ours(stack, [])
    command = ["strace", "-f", "-c", "-S", "calls", "-o", str(output), "-p", str(running.pid)]
    tracing = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    said = measure.wrk(f"http://127.0.0.1:{port}/", options.connections, options.seconds)
    tracing.send_signal(2)
    tracing.wait()
    requests = int(re.search(r"(\d+) requests in", said).group(1))
    print(f"of {requests} requests, calls per request:")
    for line in output.read_text().splitlines():
        fields = line.split()
        if len(fields) >= 5 and fields[3].isdigit() and fields[-1] != "total":
            print(f"  {int(fields[3]) / requests:8.3f}  {fields[-1]}")
    return 0
