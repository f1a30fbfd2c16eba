// Shared connections to an upstream on which nothing comes any more.

import DataPlane
import HTTP2Wire
import Routing
import Support
import Synchronization
import Testing

@Suite struct `Upstreams of HTTP 2 that fall silent` {
    /// A network that has gone sends no end of a connection.
    @Test func `are missed, and asked on another connection`() throws {
        let upstream = try FakeUpstream { connection in
            // Without a session nothing answers the question.
            try connection.write(HTTP2Frame.settings())
            var all = Octets("")
            var isAnswered = false
            while let bytes = try connection.stream.readSome() {
                all += bytes
                let frames = HTTP2Frame.split(
                    Octets(all.bytes.dropFirst(HTTP2Frame.preface.count)))
                guard !isAnswered, let head = frames.first(where: { $0.kind == 1 }) else {
                    continue
                }
                isAnswered = true
                try connection.write(
                    HTTP2Frame.headers(head.stream, [(":status", "200")], endsStream: false)
                        + HTTP2Frame.data(head.stream, "here", endsStream: true))
            }
        }
        var settings = WorkerSettings()
        settings.upstreamSilence = 300
        let plane = try TestPlane(upstream: upstream.url, http2: .on, settings: settings)
        let client = try plane.client()
        #expect(try client.exchange().body == "here")
        pause(.milliseconds(400))
        // Well before the time of a response is over.
        #expect(try client.exchange().body == "here")
        #expect(upstream.connectionCount == 2)
    }

    @Test func `are waited for where they are alive`() throws {
        let upstream = try FakeUpstream { connection in
            let peer = HTTP2Peer(connection.stream, ServerSession())
            peer.recorder.onHead = {
                if $0.id == 1 { peer.respond("HTTP/1.1 200 OK\r\n\r\n", "here", on: $0) }
            }
            try peer.run(within: .seconds(60)) { peer[3].isWhole }
            // Its session answers the question meanwhile.
            let end = ContinuousClock.now + .milliseconds(3500)
            while ContinuousClock.now < end {
                _ = try? peer.run(within: .milliseconds(100)) { false }
            }
            if let stream = peer.recorder.streams[3] {
                peer.respond("HTTP/1.1 200 OK\r\n\r\n", "late", on: stream)
            }
            try? peer.run(within: .seconds(300)) { false }
        }
        var settings = WorkerSettings()
        settings.upstreamSilence = 1500
        let plane = try TestPlane(upstream: upstream.url, http2: .on, settings: settings)
        let client = try plane.client()
        #expect(try client.exchange().body == "here")
        pause(.milliseconds(1600))
        #expect(try client.exchange().body == "late")
        #expect(upstream.connectionCount == 1)
    }

    /// gRPC's servers take more for a flood.
    @Test func `are asked twice at the most before they answer a request`() throws {
        // Kinds of the frames that have come.
        let seen = Mutex<[UInt8]>([])
        let upstream = try FakeUpstream { connection in
            try connection.write(HTTP2Frame.settings())
            var all = Octets("")
            var pings = 0
            while let bytes = try connection.stream.readSome() {
                all += bytes
                let frames = HTTP2Frame.split(
                    Octets(all.bytes.dropFirst(HTTP2Frame.preface.count)))
                let asked = frames.filter { $0.kind == 6 }
                for ping in asked.dropFirst(pings) {
                    try connection.write(HTTP2Frame.frame(.ping, flags: 1, ping.payload))
                }
                pings = asked.count
                seen.withLock { $0 = frames.map(\.kind) }
            }
        }
        var settings = WorkerSettings()
        settings.upstreamSilence = 1500
        let plane = try TestPlane(upstream: upstream.url, http2: .on, settings: settings)
        var clients: [RawClient] = []
        for count in 1...4 {
            pause(.milliseconds(1600))
            let client = try plane.client()
            try client.send(client.request())
            clients.append(client)
            _ = try waited(for: "the request") {
                seen.withLock { $0 }.filter { $0 == 1 }.count == count ? true : nil
            }
        }
        pause(.milliseconds(1600))
        #expect(seen.withLock { $0 }.filter { $0 == 6 }.count == 2)
        #expect(upstream.connectionCount == 1)
    }
}
