#!/usr/bin/env python3
"""gRPC through the proxy: a client and a server of grpcio, plain HTTP/2 on both sides.

    grpc_calls.py PROXY [--calls N]

All four kinds of call, errors without a message, deadlines and cancellation; the server demands the
credential that only the proxy has. Ends with 0 when everything came out as without a proxy.
"""

import argparse
import concurrent.futures
import os
import sys
import threading
import time

import grpc
from running_proxy import TOKEN, RunningProxy

EVENTS = {"cancelled": threading.Event()}


# The server: messages are plain bytes, so no generated code is needed. -------------------------


def check(context: grpc.ServicerContext) -> None:
    fields = dict(context.invocation_metadata())
    if fields.get("authorization") != f"Bearer {TOKEN}":
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "the credential is missing")
    context.set_trailing_metadata((("x-seen", fields.get("x-from", "nobody")),))


def unary(request: bytes, context) -> bytes:
    check(context)
    if request == b"fail":
        context.abort(grpc.StatusCode.NOT_FOUND, "no such thing")
    if request == b"sleep":
        time.sleep(3)
    return request[::-1]


def server_stream(request: bytes, context):
    check(context)
    if request == b"endless":
        context.add_callback(EVENTS["cancelled"].set)
        while context.is_active():
            yield b"tick"
            time.sleep(0.01)
        return
    for number in range(int(request)):
        yield b"%d" % number + b"x" * 1000


def client_stream(requests, context) -> bytes:
    check(context)
    return b"%d" % sum(len(request) for request in requests)


def both_streams(requests, context):
    check(context)
    for request in requests:
        yield request.upper()


def serve() -> tuple[grpc.Server, int]:
    handlers = grpc.method_handlers_generic_handler(
        "test.Echo",
        {
            "Unary": grpc.unary_unary_rpc_method_handler(unary),
            "Down": grpc.unary_stream_rpc_method_handler(server_stream),
            "Up": grpc.stream_unary_rpc_method_handler(client_stream),
            "Both": grpc.stream_stream_rpc_method_handler(both_streams),
        },
    )
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(32))
    server.add_generic_rpc_handlers((handlers,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


# The client ----------------------------------------------------------------------------------


def expect(condition: bool, what: str) -> None:
    if not condition:
        raise SystemExit(f"grpc: {what}")
    print(f"grpc: {what}: as it should be")


def code_of(call) -> grpc.StatusCode:
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def run(channel: grpc.Channel, calls: int) -> None:
    unary = channel.unary_unary("/test.Echo/Unary")
    down = channel.unary_stream("/test.Echo/Down")
    up = channel.stream_unary("/test.Echo/Up")
    both = channel.stream_stream("/test.Echo/Both")

    answer, call = unary.with_call(b"abc", metadata=(("x-from", "me"),), timeout=20)
    expect(answer == b"cba" and call.code() == grpc.StatusCode.OK, "a unary call")
    expect(dict(call.trailing_metadata()).get("x-seen") == "me", "metadata both ways")
    large = os.urandom(3_000_000)
    expect(unary(large, timeout=20) == large[::-1], "a large message both ways")
    got = list(down(b"500", timeout=20))
    expect(len(got) == 500 and got[499].startswith(b"499"), "a stream from the server")
    sent = up((b"y" * 1000 for _ in range(500)), timeout=20)
    expect(sent == b"500000", "a stream from the client")

    turns = both(iter_turns := Turns(), timeout=20)
    for number in range(50):
        iter_turns.put(b"turn %d" % number)
        if next(turns) != b"TURN %d" % number:
            expect(False, "streams both ways, in turns")
    iter_turns.end()
    expect(list(turns) == [], "streams both ways, in turns")

    expect(code_of(lambda: unary(b"fail", timeout=20)) == grpc.StatusCode.NOT_FOUND,
           "an error that is trailers only")  # fmt: skip
    expect(code_of(lambda: channel.unary_unary("/test.Echo/None")(b"", timeout=20))
           == grpc.StatusCode.UNIMPLEMENTED, "a method that is not there")  # fmt: skip
    began = time.monotonic()
    code = code_of(lambda: unary(b"sleep", timeout=0.5))
    expect(code == grpc.StatusCode.DEADLINE_EXCEEDED and time.monotonic() - began < 2, "a deadline")

    endless = down(b"endless", timeout=60)
    for _ in range(5):
        next(endless)
    endless.cancel()
    expect(EVENTS["cancelled"].wait(2), "a cancellation reaches the server")

    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = pool.map(lambda n: unary(b"%d" % n, timeout=60), range(calls))
        good = sum(answer == (b"%d" % n)[::-1]
                   for n, answer in enumerate(answers))  # fmt: skip
    took = time.monotonic() - began
    expect(good == calls, f"{calls} calls in {took:.1f} s")


class Turns:
    """An iterator whose items are given one by one."""

    def __init__(self):
        self.items = []
        self.changed = threading.Condition()
        self.ended = False

    def put(self, item: bytes) -> None:
        with self.changed:
            self.items.append(item)
            self.changed.notify()

    def end(self) -> None:
        with self.changed:
            self.ended = True
            self.changed.notify()

    def __iter__(self):
        return self

    def __next__(self) -> bytes:
        with self.changed:
            self.changed.wait_for(lambda: self.items or self.ended)
            if not self.items:
                raise StopIteration
            return self.items.pop(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("proxy")
    parser.add_argument("--calls", type=int, default=10_000)
    options = parser.parse_args()
    server, origin = serve()
    try:
        with RunningProxy(options.proxy, origin, "http2: on\n") as proxy:
            channel = grpc.insecure_channel(
                f"127.0.0.1:{proxy.port}",
                options=[("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", 1 << 24)],
            )
            grpc.channel_ready_future(channel).result(timeout=20)
            run(channel, options.calls)
            channel.close()
    finally:
        server.stop(None)
    print("grpc: all of it: as it should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
