// What is remembered of a request while it is under way: the head as it goes upstream, without its
// credential, and the few facts of the client's head that are asked for later.

import Bytes
import HTTPWire
import Routing
import Vocabulary

/// One request's record; the connection reuses it.
struct RequestRecord: ~Copyable {
    /// The upstream head without credential and final CR LF, then the client's authority and the
    /// page's origin, then, when requests are logged, the path.
    private(set) var bytes = ByteBuffer()
    private var headCount = 0
    private var authorityCount = 0
    private var upgradeCount = 0
    private var originCount = 0

    private(set) var method = Method.other
    private(set) var minorVersion: UInt8 = 1
    private(set) var persists = false
    private(set) var expectsContinue = false
    /// How the body goes upstream.
    private(set) var framing = BodyFraming.none
    /// The table that its route came from, which it keeps to: a number in it means nothing in another.
    private(set) var installed: InstalledTable?
    private(set) var upstream = -1
    private(set) var plan: HeaderPlan?
    /// Where it goes; only of a routed request.
    var upstreamOrigin: Origin {
        guard let installed else { preconditionFailure("a request without a route goes nowhere") }
        return installed.table.upstreams[upstream].origin
    }

    /// Nil where none is injected.
    private(set) var credential: CredentialSlot?
    private(set) var startedAt: UInt64 = 0
    /// The upstream has said that it answers this request in HTTP/1.1 only (RFC 9113 section 7).
    var requiresHTTP1 = false
    /// Whether it was sent with a proof, and with which nonce (`ProofMaker.turn`).
    var isProven = false
    var proofTurn: UInt64 = 0

    /// What became of it, for the access line.
    var status = 0
    var isOwnReply = false
    var bytesRelayed = 0

    /// A head that could not be read; only an answer of ours will follow. `release` has cleared what the last
    /// request left.
    mutating func beginUnreadable() {
        persists = false
    }

    /// A head that was read; the route is set later, if there is one. `release` has cleared what the last request
    /// left.
    mutating func begin(_ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer, now: UInt64)
    {
        method = head.method
        minorVersion = head.minorVersion
        persists = head.persists
        expectsContinue = head.expectsContinue(in: bytes)
        startedAt = now
    }

    /// Writes the upstream head into a block from the pool.
    mutating func write(
        _ head: borrowing MessageHead, _ target: RequestTarget, _ source: UnsafeRawBufferPointer,
        framing: BodyFraming, installed: InstalledTable, upstream: Int, plan: HeaderPlan,
        credential: CredentialSlot?, upgrade: ByteRange?, caller: Caller?,
        block: consuming ByteBuffer
    ) {
        bytes = block
        self.framing = framing
        self.installed = installed
        self.upstream = upstream
        self.plan = plan
        self.credential = credential
        plan.writeRequest(
            head, target, source, framing: framing, forwardsExpect: expectsContinue, caller: caller,
            into: &bytes)
        if let upgrade {
            bytes.append("Connection: Upgrade\r\nUpgrade: ")
            bytes.append(upgrade.bytes(in: source))
            bytes.append("\r\n")
            upgradeCount = Int(upgrade.count)
        }
        headCount = bytes.count
        if target.form == .absolute {
            bytes.append(target.authority.bytes(in: source))
        } else if let host = head.value(of: .host, in: source) {
            bytes.append(host)
        }
        authorityCount = bytes.count - headCount
        if let origin = head.value(of: .origin, in: source) {
            bytes.append(origin)
            originCount = origin.count
        }
    }

    /// Adds the path for the access line, without its query.
    mutating func note(path: UnsafeRawBufferPointer) { bytes.append(path) }

    var head: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes.bytes[..<headCount]) }

    /// The protocol that the request asks to change to; empty for none. It stands at the end of the head.
    var upgrade: UnsafeRawBufferPointer {
        guard upgradeCount > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(
            rebasing: bytes.bytes[(headCount - 2 - upgradeCount)..<(headCount - 2)])
    }

    var authority: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes.bytes[headCount..<(headCount + authorityCount)])
    }

    /// The page's origin, which was allowed; empty for other clients.
    var origin: UnsafeRawBufferPointer {
        let start = headCount + authorityCount
        return UnsafeRawBufferPointer(rebasing: bytes.bytes[start..<(start + originCount)])
    }

    var path: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            rebasing: bytes.bytes[(headCount + authorityCount + originCount)...])
    }

    /// Gives the block back early, where nothing of the head is asked for any more.
    mutating func releaseHead(to pool: inout BlockPool) {
        var block = ByteBuffer()
        swap(&block, &bytes)
        pool.give(block)
        headCount = 0
        authorityCount = 0
        upgradeCount = 0
        originCount = 0
    }

    /// Gives the block back to its pool.
    mutating func release(to pool: inout BlockPool) {
        var block = ByteBuffer()
        swap(&block, &bytes)
        pool.give(block)
        reset()
    }

    private mutating func reset() {
        headCount = 0
        authorityCount = 0
        upgradeCount = 0
        originCount = 0
        method = .other
        minorVersion = 1
        persists = false
        expectsContinue = false
        framing = .none
        installed = nil
        upstream = -1
        plan = nil
        credential = nil
        requiresHTTP1 = false
        isProven = false
        proofTurn = 0
        status = 0
        isOwnReply = false
        bytesRelayed = 0
    }
}

extension RequestRecord {
    /// `proxy GET /path 200 1234B 12ms` and a line feed; the query is never in it.
    func writeAccessLine(now: UInt64, into output: inout ByteBuffer) {
        output.append(isOwnReply ? "access by=proxy method=" : "access by=upstream method=")
        let methodEnd = head.firstIndex(of: ASCII.space) ?? 0
        output.append(UnsafeRawBufferPointer(rebasing: head[..<methodEnd]))
        output.append(" path=")
        output.append(path)
        output.append(" status=")
        output.append(decimal: UInt64(status))
        output.append(" bytes=")
        output.append(decimal: UInt64(bytesRelayed))
        output.append(" ms=")
        output.append(decimal: now &- startedAt)
        output.append("\n")
    }
}
