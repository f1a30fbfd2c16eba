// Notes what a session of HTTP/2 tells, so that tests can look at it; and carries its bytes over a socket.

import Bytes
package import HTTP2Wire
package import HTTPWire

/// What came of a session's bytes, copied so that it can be compared.
package final class Recorder {
    package struct Message {
        package var head = Octets("")
        package var interims: [Octets] = []
        package var body = Octets("")
        package var trailers: Octets?
        package var isWhole = false
        package var flaw: WireError?
        package var closed: ErrorCode?
        package var drains = 0
    }

    package let session: Session
    package private(set) var messages: [Int32: Message] = [:]
    package private(set) var order: [Int32] = []
    package private(set) var streams: [Int32: SessionStream] = [:]
    package private(set) var hasGoneAway = false
    /// Whether bodies are consumed as they come.
    package var consumes = true
    package var onHead: ((SessionStream) -> Void)?
    package var now: UInt64 = 1

    package init(_ session: Session) { self.session = session }

    package subscript(_ id: Int32) -> Message { messages[id] ?? Message() }

    package func receive(_ octets: Octets) {
        octets.bytes.withUnsafeBytes { bytes in
            session.receive(bytes, now: now) { self.take($0) }
        }
    }

    package func produce(upTo size: Int = 1 << 30) -> Octets {
        var output = ByteBuffer()
        session.produce(into: &output, upTo: size)
        session.deliver { take($0) }
        return Octets(copying: output.bytes)
    }

    private func text(_ range: Range<Int>) -> Octets {
        Octets(copying: session.text(in: range))
    }

    private func take(_ event: SessionEvent) {
        switch event {
        case .head(let stream, let range, let ends, let flaw):
            order.append(stream.id)
            streams[stream.id] = stream
            messages[stream.id, default: Message()].head = text(range)
            messages[stream.id]?.flaw = flaw
            messages[stream.id]?.isWhole = ends
            onHead?(stream)
        case .interim(let stream, let range):
            messages[stream.id, default: Message()].interims.append(text(range))
        case .data(let stream, let bytes, let ends):
            messages[stream.id]?.body += Octets(copying: bytes)
            messages[stream.id]?.isWhole = ends
            if consumes { session.consume(bytes.count, of: stream) }
        case .trailers(let stream, let range):
            messages[stream.id]?.trailers = text(range)
            messages[stream.id]?.isWhole = true
        case .drained(let stream): messages[stream.id, default: Message()].drains += 1
        case .closed(let stream, let code):
            messages[stream.id, default: Message()].closed = code
        case .goingAway: hasGoneAway = true
        }
    }
}

/// One end of an HTTP/2 connection over a socket, for blocking code.
package final class HTTP2Peer {
    package let stream: SocketStream
    package let recorder: Recorder

    package init(_ stream: SocketStream, _ session: Session) {
        self.stream = stream
        recorder = Recorder(session)
    }

    /// A client of a port of loopback.
    package static func client(
        to port: UInt16, limits: SessionLimits = SessionLimits(),
        receiveBufferBytes: Int32? = nil
    ) throws -> HTTP2Peer {
        HTTP2Peer(
            try .connect(to: port, receiveBufferBytes: receiveBufferBytes), ClientSession(limits))
    }

    package subscript(_ id: Int32) -> Recorder.Message { recorder[id] }

    package subscript(_ stream: SessionStream) -> Recorder.Message { recorder[stream.id] }

    /// Sends what is to be sent.
    package func flush() throws {
        let output = recorder.produce()
        if !output.isEmpty { try stream.write(output) }
    }

    /// Carries bytes until something is true.
    package func run(
        within limit: Duration = SocketStream.patience, until isDone: () -> Bool
    ) throws {
        let deadline = Deadline.after(limit)
        try flush()
        while !isDone() {
            try flush()
            guard try stream.fill(within: .milliseconds(Int(deadline.milliseconds))) else {
                throw Failure.ended("in the middle of HTTP/2")
            }
            recorder.receive(stream.take(stream.heldCount))
        }
        try flush()
    }

    // MARK: Clients

    /// Begins a request; `authority` goes without saying to a port of loopback.
    @discardableResult
    package func request(
        _ method: String = "GET", _ path: String = "/", authority: String = "localhost",
        fields: [(String, String)] = [], body: Octets? = nil, endsBody: Bool = true,
        trailers: Octets = ""
    ) -> SessionStream {
        var lines = "\(method) \(path) HTTP/1.1\r\nHost: \(authority)\r\n"
        for (name, value) in fields { lines += "\(name): \(value)\r\n" }
        var bytes = Octets(lines + "\r\n").bytes
        guard let session = recorder.session as? ClientSession,
            let stream = bytes.withUnsafeMutableBytes({
                session.request($0, isSecure: false, endsStream: body == nil)
            })
        else { preconditionFailure("the connection takes no request") }
        if let body { send(body, on: stream, ends: endsBody, trailers: trailers) }
        return stream
    }

    /// Sends more of a body, on either side.
    package func send(
        _ body: Octets, on stream: SessionStream, ends: Bool = true, trailers: Octets = ""
    ) {
        body.bytes.withUnsafeBytes { recorder.session.send($0, on: stream) }
        guard ends else { return }
        trailers.bytes.withUnsafeBytes { recorder.session.finish(stream, trailers: $0) }
    }

    /// One request and its whole answer.
    package func exchange(
        _ method: String = "GET", _ path: String = "/", authority: String = "localhost",
        fields: [(String, String)] = [], body: Octets? = nil
    ) throws -> Recorder.Message {
        let stream = request(method, path, authority: authority, fields: fields, body: body)
        try run { self[stream.id].isWhole || self[stream.id].closed != nil }
        return self[stream.id]
    }

    // MARK: Servers

    /// Sends the head of a response, and a body if there is one.
    package func respond(
        _ head: Octets, _ body: Octets? = nil, trailers: Octets = "", ends: Bool = true,
        on stream: SessionStream
    ) {
        guard let session = recorder.session as? ServerSession else {
            preconditionFailure("clients do not respond")
        }
        var bytes = head.bytes
        let isHeadAlone = body == nil && trailers.isEmpty && ends
        bytes.withUnsafeMutableBytes { session.sendHead($0, on: stream, endsStream: isHeadAlone) }
        if !isHeadAlone { send(body ?? "", on: stream, ends: ends, trailers: trailers) }
    }
}

extension Recorder.Message {
    /// Of a response.
    package var status: Int { Int(Octets(head.bytes.dropFirst(9).prefix(3)).text) ?? 0 }

    /// The values of the fields of that name, in lower case.
    package func values(_ name: String) -> [String] {
        head.text.split(separator: "\r\n").filter { $0.hasPrefix("\(name): ") }.map {
            String($0.dropFirst(name.count + 2))
        }
    }
}
