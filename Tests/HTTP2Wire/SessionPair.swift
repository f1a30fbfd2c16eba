// Puts a client and a server together in memory.

import Bytes
import HTTP2Wire
import HTTPWire
import Support

/// A client and a server that speak to each other in memory.
final class SessionPair {
    let client: ClientSession
    let server: ServerSession
    let atClient: Recorder
    let atServer: Recorder
    /// How bytes are cut on their way.
    var step = 1 << 30

    init(client limits: SessionLimits = SessionLimits(), server: SessionLimits = SessionLimits()) {
        client = ClientSession(limits)
        self.server = ServerSession(server)
        atClient = Recorder(client)
        atServer = Recorder(self.server)
    }

    /// Carries bytes until neither has more to say.
    func run() {
        while true {
            let up = atClient.produce()
            feed(up, to: atServer)
            let down = atServer.produce()
            feed(down, to: atClient)
            if up.isEmpty && down.isEmpty { return }
        }
    }

    private func feed(_ octets: Octets, to recorder: Recorder) {
        var rest = octets.bytes[...]
        while !rest.isEmpty {
            recorder.receive(Octets(rest.prefix(step)))
            rest = rest.dropFirst(step)
        }
    }

    func request(_ head: Octets, body: Octets? = nil, trailers: Octets = "") -> SessionStream? {
        var bytes = head.bytes
        let stream = bytes.withUnsafeMutableBytes {
            client.request($0, isSecure: false, endsStream: body == nil)
        }
        if let stream, let body {
            send(body, on: stream, of: client)
            finish(stream, of: client, trailers)
        }
        return stream
    }

    func respond(_ head: Octets, _ body: Octets, trailers: Octets = "", on stream: SessionStream) {
        var bytes = head.bytes
        let isHeadAlone = body.isEmpty && trailers.isEmpty
        bytes.withUnsafeMutableBytes {
            server.sendHead($0, on: stream, endsStream: isHeadAlone)
        }
        if isHeadAlone { return }
        send(body, on: stream, of: server)
        finish(stream, of: server, trailers)
    }

    func send(_ body: Octets, on stream: SessionStream, of session: Session) {
        body.bytes.withUnsafeBytes { session.send($0, on: stream) }
    }

    func finish(_ stream: SessionStream, of session: Session, _ trailers: Octets = "") {
        trailers.bytes.withUnsafeBytes { session.finish(stream, trailers: $0) }
    }
}
