import LoopbackServer
import Support
import Synchronization
import Testing

/// Gives each piece when the test puts it in, and notices when nobody wants more.
private final class Pieces: Sendable {
    private let stream: AsyncStream<[UInt8]>
    private let continuation: AsyncStream<[UInt8]>.Continuation
    let isCancelled = Gate()
    let asked = Mutex(0)

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func put(_ text: String) { continuation.yield(Array(text.utf8)) }

    func end() { continuation.finish() }

    func next() async -> [UInt8]? {
        asked.withLock { $0 += 1 }
        return await withTaskCancellationHandler {
            for await piece in stream { return piece }
            return nil
        } onCancel: {
            isCancelled.open()
        }
    }

    func server() throws -> HTTPServer {
        try HTTPServer { request in
            guard request.path == "/open" else { return await hello(request) }
            return ServerResponse(status: 200, body: Array("0".utf8), rest: { await self.next() })
        }
    }
}

@Suite struct `Loopback server's open body` {
    @Test func `sends each piece as soon as it is there`() async throws {
        let pieces = Pieces()
        let server = try pieces.server()
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send(client.request("GET", "/open"))
            let head = try #require(try client.stream.readHead())
            #expect(head.value("Transfer-Encoding") == "chunked")
            #expect(head.value("Content-Length") == nil)
            #expect(try client.stream.readChunk() == "0")
            for text in ["one", "", "two"] {
                pieces.put(text)
                if !text.isEmpty {
                    #expect(try client.stream.readChunk() == Octets(text.utf8))
                }
            }
            pieces.end()
            #expect(try client.stream.readChunk() == nil)
            // The connection goes on.
            #expect(try client.exchange().body == "hello")
        }
    }

    @Test func `ends with the connection for a client of HTTP 1.0`() async throws {
        let pieces = Pieces()
        let server = try pieces.server()
        pieces.put("1")
        pieces.end()
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send("GET /open HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let answer = try client.stream.readToEnd().text
            #expect(answer.hasSuffix("\r\n\r\n01"))
            #expect(answer.contains("\r\nConnection: close\r\n"))
            #expect(!answer.contains("Transfer-Encoding"))
        }
    }

    @Test func `is not asked for by HEAD`() async throws {
        let pieces = Pieces()
        let server = try pieces.server()
        try await blocking {
            let client = try RawClient(to: server.port)
            let answer = try client.exchange("HEAD", "/open")
            #expect(answer.value("Transfer-Encoding") == "chunked")
            #expect(try client.exchange().body == "hello")
        }
        #expect(pieces.asked.withLock { $0 } == 0)
    }

    @Test func `is cancelled when the client hangs up`() async throws {
        let pieces = Pieces()
        let server = try pieces.server()
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send(client.request("GET", "/open"))
            _ = try client.stream.readHead()
            #expect(try client.stream.readChunk() == "0")
            client.stream.reset()
            try pieces.isCancelled.pass()
        }
    }

    @Test func `is cancelled when the server stops`() async throws {
        let pieces = Pieces()
        let server = try pieces.server()
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send(client.request("GET", "/open"))
            _ = try client.stream.readHead()
            #expect(try client.stream.readChunk() == "0")
            server.stop()
            try pieces.isCancelled.pass()
            #expect(throws: (any Error).self) { try client.stream.readChunk() }
        }
    }
}
