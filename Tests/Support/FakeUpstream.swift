// A scripted server on loopback, with threads of its own. It does what the script says, however rude,
// and remembers every byte that came and every request that a script read.

package import Crypto
import Glibc
import Synchronization

/// Accepts connections until it is stopped or dropped.
package final class FakeUpstream: Sendable {
    package typealias Script = @Sendable (FakeConnection) throws -> Void

    private let shared: Shared
    private let listener: ListeningSocket

    /// Every connection runs the script on a thread of its own and is closed behind it. With `tls` the
    /// script sees plaintext.
    package init(
        host: String = "127.0.0.1", port: UInt16 = 0, tls: TLSContext? = nil,
        _ script: @escaping Script
    ) throws {
        shared = Shared(script: script, tls: tls)
        listener = try ListeningSocket(host: host, port: port)
        let (shared, listener) = (shared, listener)
        OwnThread.start { shared.accept(from: listener) }
    }

    /// Answers each request of each connection until the client goes.
    package convenience init(
        host: String = "127.0.0.1", port: UInt16 = 0, tls: TLSContext? = nil,
        answering respond: @escaping @Sendable (HTTPMessage) throws -> FakeResponse
    ) throws {
        try self.init(host: host, port: port, tls: tls) { try $0.serve(respond) }
    }

    deinit { stop() }

    /// Refuses new connections and ends the ones there are.
    package func stop() {
        listener.close()
        shared.registry.shutDownAll()
    }

    package var port: UInt16 { listener.port }

    /// Without a slash at the end.
    package var url: String {
        "\(shared.tls == nil ? "http" : "https")://\(listener.host.bracketedIfIPv6):\(port)"
    }

    // MARK: What happened

    /// Whole requests in the order in which scripts read them.
    package var requests: [HTTPMessage] { shared.record.withLock { $0.requests } }

    /// How many connections were accepted.
    package var connectionCount: Int { shared.record.withLock { $0.received.count } }

    /// The first bytes (at most 4 MiB) of each connection, by its number.
    package var received: [Octets] { shared.record.withLock { $0.received } }

    /// Errors that scripts ended with; deadlines mostly.
    package var failures: [any Error] { shared.record.withLock { $0.failures } }

    @discardableResult
    package func waitForRequests(_ count: Int, within limit: Duration = .seconds(20)) throws
        -> [HTTPMessage]
    {
        try waited(for: "\(count) requests, \(requests.count) came", within: limit) {
            let requests = requests
            return requests.count >= count ? requests : nil
        }
    }

    /// What the connections share with the server.
    final class Shared: Sendable {
        struct Record: Sendable {
            var requests: [HTTPMessage] = []
            var received: [Octets] = []
            var failures: [any Error] = []
        }

        static let receivedBytesMax = 4 << 20
        let script: Script
        let tls: TLSContext?
        let registry = SocketRegistry()
        let record = Mutex(Record())

        init(script: @escaping Script, tls: TLSContext?) {
            self.script = script
            self.tls = tls
        }

        func accept(from listener: ListeningSocket) {
            while let descriptor = listener.accept() {
                let number = record.withLock { record in
                    record.received.append("")
                    return record.received.count - 1
                }
                OwnThread.start { self.run(descriptor, number: number) }
            }
        }

        private func run(_ descriptor: Int32, number: Int) {
            let transport: any Transport =
                if let tls { TLSTransport(descriptor, server: tls) } else {
                    PlainTransport(descriptor)
                }
            let connection = FakeConnection(transport, number: number, of: self)
            do {
                try script(connection)
            } catch {
                record.withLock { $0.failures.append(error) }
            }
            connection.stream.close()
        }

        func note(_ bytes: UnsafeRawBufferPointer, of number: Int) {
            record.withLock { record in
                let room = Self.receivedBytesMax - record.received[number].count
                let kept = UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, room)))
                record.received[number] += Octets(copying: kept)
            }
        }
    }
}

/// One accepted connection in the hands of a script.
package final class FakeConnection {
    /// In the order of acceptance, from 0.
    package let number: Int
    package let stream: SocketStream
    /// Added to every answer that `respond` writes.
    package var standingFields: [(String, String)] = []
    private let shared: FakeUpstream.Shared

    init(_ transport: any Transport, number: Int, of shared: FakeUpstream.Shared) {
        self.number = number
        self.shared = shared
        stream = SocketStream(transport, in: shared.registry) { [unowned shared] bytes in
            shared.note(bytes, of: number)
        }
    }

    /// A whole request, remembered; nil when the client ends the connection.
    package func readRequest(within limit: Duration = SocketStream.patience) throws -> HTTPMessage?
    {
        let request: HTTPMessage?
        do {
            request = try stream.readRequest(within: limit)
        } catch Failure.reset {
            return nil
        }
        if let request { note(request) }
        return request
    }

    /// A request that has to come.
    package func expectRequest(within limit: Duration = SocketStream.patience) throws -> HTTPMessage
    {
        guard let request = try readRequest(within: limit) else {
            throw Failure.ended("before a request")
        }
        return request
    }

    /// A head that has to come; its body is left in the stream.
    package func expectHead(within limit: Duration = SocketStream.patience) throws -> HTTPMessage {
        guard let head = try stream.readHead(within: limit) else {
            throw Failure.ended("before a head")
        }
        return head
    }

    /// Remembers a request that the script read by itself.
    package func note(_ request: HTTPMessage) {
        shared.record.withLock { $0.requests.append(request) }
    }

    package func write(_ octets: Octets) throws { try stream.write(octets) }

    package func respond(_ response: FakeResponse, to request: HTTPMessage) throws {
        var response = response
        response.fields += standingFields
        try stream.write(response.octets(to: request.method))
    }

    /// Answers requests until the client goes or an answer closes.
    package func serve(_ respond: (HTTPMessage) throws -> FakeResponse) throws {
        while let request = try readRequest(within: .seconds(300)) {
            let response = try respond(request)
            do {
                try self.respond(response, to: request)
            } catch Failure.reset {
                return
            }
            if case .untilClose = response.framing { return }
            if response.closes { return }
        }
    }
}
