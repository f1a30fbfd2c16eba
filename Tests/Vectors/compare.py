#!/usr/bin/env python3
"""Sends requests.txt to servers that forward to an origin, and prints where they differ from what it says.

    compare.py --origin PORT                      runs an origin that answers 200 to everything
    compare.py NAME=PORT [NAME=PORT ...]          each NAME listens on 127.0.0.1:PORT in front of an origin

Only statuses are compared: what an origin saw is looked at by the tests of the proxy itself.
"""
import contextlib
import os
import re
import socket
import sys
import threading

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "requests.txt")
LAST_CHUNK = re.compile(rb"(?:^|\r\n)0+\r\n(?:[^\r]+\r\n)*\r\n")
PLAIN = {"r": b"\r", "n": b"\n", "t": b"\t", "0": b"\0", "\\": b"\\"}


def octets(line, port):
    def one(match):
        text = match.group(0)
        if text[1] == "x":
            return chr(int(text[2:], 16))
        if text[1] == "[":
            return text[2] * int(text[4:-1])
        if text[1] == "P":
            return str(port)
        return PLAIN[text[1]].decode("latin-1")

    return re.sub(r"\\(?:x..|\[.\*\d+\]|.)", one, line).encode("latin-1")


def vectors():
    name, lines = None, []
    for line in open(FILE, encoding="ascii").read().split("\n"):
        if line.startswith("#") or not line:
            continue
        if line.startswith("== "):
            name, lines = line[3:], []
        elif line == "->" or line.startswith("-> "):
            items = [item for item in line[3:].split("; ") if item]
            yield name, lines, [item[:3] for item in items]
        else:
            lines.append(line)


def ask(port, lines):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as stream:
            stream.settimeout(3)
            try:
                stream.sendall(b"".join(octets(line, port) for line in lines))
                stream.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            answer = b""
            try:
                while part := stream.recv(65536):
                    answer += part
            except ConnectionResetError:
                pass
            except TimeoutError:
                answer += b"HTTP/1.1 ..."
    except OSError as error:
        return [str(error)]
    found = re.findall(rb"HTTP/1\.[01] (\d\d\d|\.\.\.)", answer)
    return [status.decode() for status in found if not status.startswith(b"1")]


def origin(port):
    """Reads what has a length or chunks, as well as that can be told, and answers."""

    def serve(stream):
        data = b""

        def more():
            part = stream.recv(65536)
            if not part:
                raise EOFError
            return data + part

        with stream, contextlib.suppress(EOFError, OSError):
            while True:
                while b"\r\n\r\n" not in data:
                    data = more()
                head, data = data.split(b"\r\n\r\n", 1)
                low = head.lower()
                if length := re.search(rb"\ncontent-length: *(\d+)", low):
                    while len(data) < int(length[1]):
                        data = more()
                    data = data[int(length[1]):]
                elif b"transfer-encoding: chunked" in low:
                    while not (end := LAST_CHUNK.search(data)):
                        data = more()
                    data = data[end.end():]
                body = b"" if head.startswith(b"HEAD ") else b"ok"
                stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + body)

    listener = socket.create_server(("127.0.0.1", port))
    print("origin on", listener.getsockname()[1], flush=True)
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=serve, args=(stream,), daemon=True).start()


def main(words):
    if words[:1] == ["--origin"]:
        return origin(int(words[1]))
    servers = [(word.split("=")[0], int(word.split("=")[1])) for word in words]
    if not servers:
        sys.exit(__doc__)
    agreed = {name: 0 for name, _ in servers}
    count = 0
    for name, lines, expected in vectors():
        count += 1
        for server, port in servers:
            answer = ask(port, lines)
            if answer == expected:
                agreed[server] += 1
            else:
                print(f"{server}: {name}: {' '.join(answer) or 'nothing'}, "
                      f"expected {' '.join(expected) or 'nothing'}")
    for server, number in agreed.items():
        print(f"{server}: {number} of {count} as expected")


main(sys.argv[1:])
