// Fields that no compression table may keep, from one HTTP/2 connection to the other (RFC 7541 section 6.2.3).

import Bytes
import Crossing
import DataPlane
import HTTP2Wire
import HTTPWire
import Routing
import Support
import Synchronization
import Testing
import Vocabulary

private let empty = NeverIndexed()

private final class Marks: Sendable {
    private let list = Mutex<[NeverIndexed]>([])
    var all: [NeverIndexed] { list.withLock { $0 } }
    func add(_ fields: NeverIndexed) { list.withLock { $0.append(fields) } }
}

/// An upstream that notes what marks each request has, and answers with these frames.
private func upstream(
    _ marks: Marks, _ answer: @escaping @Sendable (UInt32) -> Octets
) throws -> FakeUpstream {
    try FakeUpstream { connection in
        let peer = HTTP2Peer(connection.stream, ServerSession())
        var count = 0
        while true {
            try peer.run(within: .seconds(60)) {
                peer.recorder.order.count > count
                    && peer[peer.recorder.order[count]].isWhole
            }
            let id = peer.recorder.order[count]
            count += 1
            if let stream = peer.recorder.streams[id] {
                marks.add(stream.neverIndexed)
            }
            try connection.write(answer(UInt32(id)))
        }
    }
}

@Suite struct `Fields that are never indexed` {
    @Test func `are marked so towards the upstream, trailers as well, and no others`() throws {
        let marks = Marks()
        let upstream = try upstream(marks) { HTTP2Frame.headers($0, [(":status", "200")]) }
        let plane = try TestPlane(upstream: upstream.url, http2: .on, credential: false)
        let peer = HTTP2Peer(try .connect(to: plane.port), ClientSession())
        let fields = [
            (":method", "POST"), (":scheme", "http"), (":path", "/?key=1"),
            (":authority", plane.authority), ("user-agent", "none"), ("x-own", "secret"),
            ("referer", "here"),
        ]
        var sent = HTTP2Frame.preface + HTTP2Frame.settings()
        let marked: [Set<String>] = [[], [":path"], ["x-own"], ["referer", ":authority"], []]
        for (index, names) in marked.enumerated() {
            sent += HTTP2Frame.headers(
                UInt32(2 * index + 1), fields, endsStream: index < 4, neverIndexed: names)
        }
        sent += HTTP2Frame.headers(9, [("x-sum", "1")], neverIndexed: ["x-sum"])
        try peer.stream.write(sent)
        _ = try waited(for: "the requests") { marks.all.count == 5 ? true : nil }
        var (path, own, referer) = (empty, empty, empty)
        path.path = true
        own.others = true
        referer.known = [.referer]
        #expect(marks.all == [empty, path, own, referer, own])
    }

    @Test func `are marked so towards the client, and no others`() throws {
        let marks = Marks()
        let head = [(":status", "200"), ("set-cookie", "a=b"), ("x-own", "secret")]
        let upstream = try upstream(marks) { stream in
            let names: Set<String> = stream == 1 ? [] : stream == 3 ? ["set-cookie"] : ["x-own"]
            return HTTP2Frame.headers(stream, head, neverIndexed: names)
        }
        let plane = try TestPlane(upstream: upstream.url, http2: .on)
        let client = try HTTP2Peer.client(to: plane.port)
        var (cookie, own) = (empty, empty)
        cookie.known = [.setCookie]
        own.others = true
        for expected in [empty, cookie, own] {
            let stream = client.request(authority: plane.authority)
            try client.run { client[stream.id].isWhole }
            #expect(stream.neverIndexed == expected)
        }
    }

    @Test func `are targets with a credential in them`() throws {
        let marks = Marks()
        let upstream = try upstream(marks) { HTTP2Frame.headers($0, [(":status", "200")]) }
        let plane = try TestPlane(upstream: upstream.url, http2: .on, token: nil)
        var route = RouteSpec(path: "", upstream: try UpstreamURL(upstream.url))
        route.http2 = .on
        route.credential = RouteCredential(slot: CredentialSlot(0), parameter: "key")
        try plane.reconfigure([route])
        plane.post(
            .credential(
                CredentialUpdate(
                    slot: CredentialSlot(0), generation: Generation(1),
                    line: SecretBytes("key=secret"), usableUntil: nil)))
        #expect(try plane.client().exchange().status == 200)
        var path = empty
        path.path = true
        #expect(marks.all == [path])
    }
}
