// What is remembered of a request while it is under way: the head as it goes upstream, without its
// credential, and the few facts of the client's head that are asked for later.

import Bytes
import HTTPWire
import Routing
import Vocabulary

/// One request's record; the connection reuses it.
struct RequestRecord: ~Copyable {
    /// The upstream head without credential and final CR LF, then the client's authority and the
    /// page's origin, then the client's method and path.
    private(set) var bytes = ByteBuffer()
    private var headCount = 0
    private var authorityCount = 0
    private var upgradeCount = 0
    private var originCount = 0
    private var methodCount = 0
    /// What stands behind the path: a trace's id, once the head is let go.
    private var traceCount = 0

    private(set) var method = Method.other
    private(set) var minorVersion: UInt8 = 1
    private(set) var persists = false
    private(set) var asksForTrailers = false
    private(set) var expectsContinue = false
    /// A person opened the address in a browser and would read an answer of ours as a page.
    private(set) var isForPage = false
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
    /// The upstream has said that it answers this request in HTTP/1.1 only (RFC 9113 section 7).
    var requiresHTTP1 = false
    /// The client shows who it is in a way that holds for its connection.
    private(set) var bindsConnection = false
    /// Whether it was sent with a proof, and with which nonce (`ProofMaker.turn`).
    var isProven = false
    var proofTurn: UInt64 = 0

    // What became of it, for the tally and the access line. Times are the loop's, in milliseconds.

    /// Whose answer broke off.
    enum Cut {
        case none, byClient, byUpstream
    }

    /// Whether it has begun and has not been counted as ended.
    private(set) var isOpen = false
    private(set) var id: UInt64 = 0
    /// In the worker's tally; 0 while it has no route.
    var row = 0
    private(set) var startedAt: UInt64 = 0
    /// When it was sent last, and when the head of its final answer came; 0 for not yet.
    var sentAt: UInt64 = 0
    var headAt: UInt64 = 0
    /// How long it has waited for a credential, and for connections.
    var parkedMilliseconds: UInt64 = 0
    var connectMilliseconds: UInt64 = 0
    /// 0 until the client was told.
    var status = 0
    /// Of an answer of ours.
    var ownCode: StaticString?
    var cut = Cut.none
    var bytesTaken = 0
    var bytesRelayed = 0

    /// A head that could not be read; only an answer of ours will follow. `release` has cleared what the last
    /// request left.
    mutating func beginUnreadable(id: UInt64, now: UInt64) {
        isOpen = true
        self.id = id
        startedAt = now
    }

    /// A head that was read; the route is set later, if there is one. `release` has cleared what the last request
    /// left.
    mutating func begin(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer, id: UInt64, now: UInt64
    ) {
        isOpen = true
        self.id = id
        method = head.method
        minorVersion = head.minorVersion
        persists = head.persists
        asksForTrailers = head.asksForTrailers(in: bytes)
        expectsContinue = head.expectsContinue(in: bytes)
        startedAt = now
        // One bit for whatever is no browser.
        if head.present.contains(.secFetchSite) { isForPage = head.asksForPage(in: bytes) }
        if head.present.contains(.authorization) {
            bindsConnection = Self.bindsConnection(head.value(of: .authorization, in: bytes))
        }
    }

    /// Servers take the connection, and not the request, for authenticated with these (RFC 4559 section 6).
    private static func bindsConnection(_ value: UnsafeRawBufferPointer?) -> Bool {
        guard let value else { return false }
        let scheme = UnsafeRawBufferPointer(
            rebasing: value[..<(value.firstIndex(of: ASCII.space) ?? value.count)])
        return ASCII.equalsIgnoringCase(scheme, "ntlm")
            || ASCII.equalsIgnoringCase(scheme, "negotiate")
            || ASCII.equalsIgnoringCase(scheme, "nego2")
            || ASCII.equalsIgnoringCase(scheme, "kerberos")
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
        note(head, target, source)
    }

    /// What is kept of a path, at the most.
    private static let pathBytesMax = 1024

    private mutating func note(
        _ head: borrowing MessageHead, _ target: RequestTarget, _ source: UnsafeRawBufferPointer
    ) {
        bytes.append(head.methodBytes.bytes(in: source))
        methodCount = Int(head.methodBytes.count)
        let path = target.pathAlone(source)
        bytes.append(
            UnsafeRawBufferPointer(rebasing: path[..<min(path.count, Self.pathBytesMax)]))
    }

    /// Keeps what the log says of a request that goes nowhere.
    mutating func noteRefused(
        _ head: borrowing MessageHead, _ target: RequestTarget, _ source: UnsafeRawBufferPointer
    ) {
        note(head, target, source)
        if let trace = TraceParent.traceID(inHead: source) {
            bytes.append(trace)
            traceCount = trace.count
        }
    }

    /// It is counted as ended.
    mutating func close() { isOpen = false }

    var head: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes.bytes[..<headCount]) }

    /// Whether as much of the body has come as the head announces. A connection on which less was sent would take
    /// the next request for the rest.
    var isBodyWhole: Bool {
        switch framing {
        case .none: bytesTaken == 0
        case .length(let count): UInt64(bytesTaken) == count
        case .chunked, .untilClose: true
        }
    }

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

    /// As the client wrote it; empty where it could not be read.
    var methodText: UnsafeRawBufferPointer {
        let start = headCount + authorityCount + originCount
        return UnsafeRawBufferPointer(rebasing: bytes.bytes[start..<(start + methodCount)])
    }

    /// Without its query; the beginning, where it is long.
    var path: UnsafeRawBufferPointer {
        let start = headCount + authorityCount + originCount + methodCount
        return UnsafeRawBufferPointer(rebasing: bytes.bytes[start..<(bytes.count - traceCount)])
    }

    /// The id of the trace that the client's request belongs to; empty for none.
    var traceID: UnsafeRawBufferPointer {
        if traceCount > 0 {
            return UnsafeRawBufferPointer(rebasing: bytes.bytes[(bytes.count - traceCount)...])
        }
        return TraceParent.traceID(inHead: head) ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Gives the block back early, where nothing of the head is asked for any more but by the log.
    mutating func releaseHead(to pool: inout BlockPool) {
        let (method, path, trace) = (methodText, self.path, traceID)
        var rest = ByteBuffer(capacity: method.count + path.count + trace.count)
        rest.append(method)
        rest.append(path)
        rest.append(trace)
        (methodCount, traceCount) = (method.count, trace.count)
        swap(&rest, &bytes)
        pool.give(rest)
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
        methodCount = 0
        traceCount = 0
        method = .other
        minorVersion = 1
        persists = false
        asksForTrailers = false
        expectsContinue = false
        isForPage = false
        framing = .none
        installed = nil
        upstream = -1
        plan = nil
        credential = nil
        requiresHTTP1 = false
        bindsConnection = false
        isProven = false
        proofTurn = 0
        row = 0
        sentAt = 0
        headAt = 0
        parkedMilliseconds = 0
        connectMilliseconds = 0
        status = 0
        ownCode = nil
        cut = .none
        bytesTaken = 0
        bytesRelayed = 0
    }
}
