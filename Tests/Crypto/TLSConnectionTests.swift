// TLS between two connections in memory: what is agreed, what is moved, how it ends.

import Bytes
import Crypto
import Support
import Testing

@Suite struct `TLS connection` {
    let authority = TestAuthority()

    @Test(arguments: [1, 7, 100, Int.max])
    func `shakes hands whatever the pieces`(step: Int) throws {
        var pair = try TLSPair(authority: authority, identity: authority.loopback())
        pair.exchange(step: step)
        let (client, server) = (pair.clientProgress, pair.serverProgress)
        #expect(client == .ready(0))
        #expect(server == .ready(0))
        let facts = (pair.client.version, pair.client.alpnProtocol, pair.server.alpnProtocol)
        #expect(facts == ("TLSv1.3", "http/1.1", "http/1.1"))
        let isEstablished = pair.client.isEstablished
        #expect(isEstablished)
    }

    @Test(arguments: ["localhost", "localhost.", "LOCALHOST", "127.0.0.1", "::1"])
    func `accepts a certificate for its host`(host: String) throws {
        var pair = try TLSPair(authority: authority, identity: authority.loopback(), host: host)
        pair.exchange()
        let progress = pair.clientProgress
        #expect(progress == .ready(0))
    }

    @Test func `moves plaintext both ways byte for byte`() throws {
        var pair = try TLSPair(authority: authority, identity: authority.loopback())
        pair.exchange()
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        var sent = 0
        var arrived: [UInt8] = []
        while sent < bytes.count {
            guard case .ready(let count) = pair.client.write(Array(bytes[sent...])) else { break }
            sent += count
            pair.moveToServer()
            arrived += pair.server.readAll().bytes
        }
        #expect(arrived == bytes)
        _ = pair.server.write([1, 2, 3])
        pair.moveToClient(10)
        let early = pair.client.readAll()
        #expect(early == ([], .wantRead))
        pair.moveToClient()
        let late = pair.client.readAll()
        #expect(late == ([1, 2, 3], .wantRead))
    }

    @Test func `a small buffer gets a record piece by piece`() throws {
        var pair = try TLSPair(authority: authority, identity: authority.loopback())
        pair.exchange()
        let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
        _ = pair.client.write(bytes)
        pair.moveToServer()
        let arrived = pair.server.readAll(step: 7)
        #expect(arrived == (bytes, .wantRead))
    }

    @Test func `writing stops while too much waits to be sent`() throws {
        var pair = try TLSPair(authority: authority, identity: authority.loopback())
        pair.exchange()
        let bytes = [UInt8](repeating: 7, count: 1_000_000)
        guard case .ready(let count) = pair.client.write(bytes) else {
            Issue.record("nothing was written")
            return
        }
        #expect(count >= TLSConnection.pendingBytesMax)
        #expect(count < TLSConnection.pendingBytesMax + 2 * 16_384)
        let again = pair.client.write(bytes)
        #expect(again == .wantWrite)
        pair.moveToServer()
        let afterwards = pair.client.write(bytes)
        #expect(afterwards == .ready(count))
    }

    @Test func `draining appends, and changes places with an empty buffer`() throws {
        var pair = try TLSPair(authority: authority, identity: authority.loopback())
        pair.exchange()
        var target = ByteBuffer()
        _ = pair.client.write([1])
        pair.client.drain(into: &target)
        _ = pair.client.write([2])
        pair.client.drain(into: &target)
        pair.server.feed(target.bytes)
        let arrived = pair.server.readAll()
        #expect(arrived == ([1, 2], .wantRead))
        let left = pair.client.pendingCiphertext.count
        #expect(left == 0)
    }

    @Test func `an announced end is told from a broken connection`() throws {
        var pair = try TLSPair(authority: authority, identity: authority.loopback())
        pair.exchange()
        _ = pair.server.write([9])
        pair.server.shutdown()
        pair.moveToClient()
        pair.client.feedEnd()
        let end = pair.client.readAll()
        #expect(end == ([9], .closed))

        var broken = try TLSPair(authority: authority, identity: authority.loopback())
        broken.exchange()
        _ = broken.server.write([9])
        broken.moveToClient()
        broken.client.feedEnd()
        let failure = broken.client.readAll()
        #expect(failure == ([9], .failed(.truncated)))
        let afterwards = broken.client.write([1])
        #expect(afterwards == .failed(.truncated))
    }

    @Test func `after the other side's end one may still write`() throws {
        var pair = try TLSPair(authority: authority, identity: authority.loopback())
        pair.exchange()
        pair.server.shutdown()
        pair.moveToClient()
        let end = pair.client.readAll().end
        #expect(end == .closed)
        let progress = pair.client.write([4])
        #expect(progress == .ready(1))
        pair.moveToServer()
        let arrived = pair.server.readAll()
        #expect(arrived == ([4], .wantRead))
    }

    @Test func `works on after its buffers were released`() throws {
        var pair = try TLSPair(authority: authority, identity: authority.loopback())
        pair.exchange()
        _ = pair.client.readAll()
        for round in UInt8(0)..<3 {
            pair.client.releaseBuffers()
            pair.server.releaseBuffers()
            _ = pair.client.write([round])
            pair.moveToServer()
            let arrived = pair.server.readAll()
            #expect(arrived == ([round], .wantRead))
        }
    }

    @Test func `a session given out makes the next handshake short`() throws {
        let identity = authority.loopback()
        let client = try TLSContext.client(trust: .file(path: authority.caFile))
        let server = try TLSContext.server(
            certificateFile: identity.certificateFile, keyFile: identity.keyFile)
        var first = TLSPair(
            client: try TLSConnection(client: client, host: "localhost"),
            server: TLSConnection(server: server))
        first.exchange()
        let early = first.client.newestSession
        #expect(early == nil, "TLS 1.3 gives sessions out after the handshake")
        _ = first.client.readAll()
        let newest = first.client.newestSession
        let session = try #require(newest)

        var second = TLSPair(
            client: try TLSConnection(client: client, host: "localhost", session: session),
            server: TLSConnection(server: server))
        second.exchange()
        let isResumed = (second.client.isResumed, second.server.isResumed)
        #expect(isResumed == (true, true))

        var other = TLSPair(
            client: try TLSConnection(client: client, host: "127.0.0.1", session: session),
            server: TLSConnection(server: server))
        other.exchange()
        let isOtherResumed = other.client.isResumed
        #expect(!isOtherResumed, "a resumed handshake would not have verified the other host")
    }
}
