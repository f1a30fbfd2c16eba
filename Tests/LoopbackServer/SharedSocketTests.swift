import Glibc
import HTTPWire
import LoopbackServer
import Support
import Synchronization
import Testing

/// Listening on 127.0.0.1, not blocking, as a service manager or another room hands it over.
private final class OpenedSocket: Sendable {
    let descriptor: Int32
    let port: UInt16

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                bind(descriptor, raw, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, raw, &size) == 0
            }
        }
        try #require(result)
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }
}

@Suite struct `A server on sockets of others` {
    private static let open = HeadGuard(consumedFields: ["X-Secret"]) { head, _, _ in
        head.method == .delete
            ? .turnedAway(ServerResponse(status: 403, text: "no"))
            : head.method == .head ? .stranger : .welcome
    }

    @Test func `serves there, leaves the socket alone, and tells handlers what the guard said`()
        async throws
    {
        let socket = try OpenedSocket()
        let server = try HTTPServer(sharing: [socket.descriptor], guard: Self.open) { request in
            let fields = request.fields.map(\.name).joined(separator: ",")
            return ServerResponse(
                status: request.isStranger ? 203 : 200, text: "\(request.method) \(fields)")
        }
        try await blocking {
            let client = try RawClient(to: socket.port)
            let answer = try client.exchange(
                "POST", fields: [("x-secret", "s"), ("A", "b")], body: "x")
            #expect(answer.body == "POST Host,A,Content-Length")
            #expect(try client.exchange("HEAD").status == 203)
            // Before the body has come.
            try client.send("DELETE / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
            let refused = try client.stream.readResponse(to: "DELETE")
            #expect((refused.status, refused.body) == (403, "no"))
            #expect(refused.value("Connection") == "close")
            server.stop()
            let second = try HTTPServer(
                sharing: [socket.descriptor], guard: Self.open, handler: hello)
            #expect(try RawClient(to: socket.port).exchange().body == "hello")
            second.stop()
        }
    }

    @Test func `closes what is not admitted before a byte is read`() async throws {
        let socket = try OpenedSocket()
        let asked = Atomic(0)
        let server = try HTTPServer(
            sharing: [socket.descriptor], guard: Self.open,
            admits: { _ in asked.add(1, ordering: .relaxed).newValue > 1 }, handler: hello)
        try await blocking {
            let first = try RawClient(to: socket.port)
            _ = try first.stream.waitForEnd()
            #expect(try RawClient(to: socket.port).exchange().status == 200)
        }
        server.stop()
    }
}
