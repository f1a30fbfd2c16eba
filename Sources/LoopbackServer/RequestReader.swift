// Turns the bytes of one connection into requests and the errors that end it. It does no I/O and reads
// no clock; what it wants next it says.

import Bytes
import HTTPWire

/// What the server must know of a request to answer it.
package struct AnswerRules: Equatable {
    /// The body is not sent.
    var isHead: Bool
    var isHTTP10: Bool
    /// The client would send another request on this connection.
    var persists: Bool

    /// For answers to what was no request.
    static let refusal = AnswerRules(isHead: false, isHTTP10: false, persists: false)
}

/// Reads request after request; holds the bytes that were not read yet.
package struct RequestReader: ~Copyable {
    package enum Event {
        case needMore
        /// The client waits for `100 Continue` before it sends the body. Said once.
        case continueWanted
        case request(ServerRequest, AnswerRules)
        /// The guard does not let it in: that is the answer, and the connection ends with it.
        case turnedAway(ServerResponse, AnswerRules)
        /// Nothing more can be read; the answer has this status.
        case refused(Int)
        /// The client began a TLS handshake.
        case tlsHandshake
    }

    private enum Phase {
        case head, body, over
    }

    private let limits: ServerLimits
    private let peerPort: UInt16
    private let headGuard: HeadGuard?
    private var phase = Phase.head
    private var isFirst = true
    private var input = ByteBuffer()
    private var parser: HeadParser
    private var head: MessageHead
    private var body = BodyReader()
    private var request: ServerRequest?
    private var rules = AnswerRules.refusal
    private var wantsContinue = false

    package init(limits: ServerLimits, peerPort: UInt16, headGuard: HeadGuard? = nil) {
        self.limits = limits
        self.peerPort = peerPort
        self.headGuard = headGuard
        parser = HeadParser(limits: limits.head)
        head = MessageHead(fieldsMax: limits.head.fieldsMax)
    }

    /// True between two requests: nothing of the next has come.
    var isIdle: Bool { phase == .head && input.isEmpty }
    /// True from the end of a head to the end of its body.
    var isInBody: Bool { phase == .body }
    /// True until the first request is whole.
    var isFresh: Bool { isFirst }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if phase != .over { input.append(bytes) }
    }

    /// Goes on with what has come; to be called until it needs more or says `refused`. A request is
    /// to be answered before the next call.
    package mutating func next() -> Event {
        do throws(WireError) {
            switch phase {
            case .head: return try readHead()
            case .body: return try readBody()
            case .over: return .needMore
            }
        } catch {
            return refuse(Self.status(of: error))
        }
    }

    private mutating func refuse(_ status: Int) -> Event {
        phase = .over
        input.removeAll()
        return .refused(status)
    }

    private mutating func readHead() throws(WireError) -> Event {
        // A ClientHello record starts with 22 and the major version 3 (RFC 8446 section 5.1).
        if isFirst, let first = input.bytes.first, first == 22 {
            phase = .over
            return .tlsHandshake
        }
        guard try parser.request(in: input.bytes, into: &head) == .complete else {
            return .needMore
        }
        let bytes = input.bytes
        let framing = try head.requestFraming(in: bytes)
        let target = try head.requestTarget(in: bytes)
        rules = AnswerRules(
            isHead: head.method == .head, isHTTP10: head.minorVersion == 0,
            persists: head.persists)
        wantsContinue = framing != .none && head.expectsContinue(in: bytes)
        request = makeRequest(target, bytes)
        switch headGuard?.judge(head, target, bytes) {
        case nil, .welcome: break
        case .stranger: request?.isStranger = true
        case .turnedAway(let response):
            phase = .over
            input.removeAll()
            return .turnedAway(response, rules)
        }
        if case .length(let length) = framing, length > UInt64(limits.bodyBytesMax) {
            return refuse(413)
        }
        body.start(framing)
        input.consume(head.length)
        phase = .body
        return try readBody()
    }

    private mutating func readBody() throws(WireError) -> Event {
        var step: BodyStep
        repeat {
            // One byte more than there is room for, so that of two faults the first is the answer,
            // however much came at once.
            let room = limits.bodyBytesMax - request!.body.count
            step = try body.read(
                UnsafeMutableRawBufferPointer(rebasing: input.mutableBytes.prefix(room + 1)))
            guard step.data.count <= room else { return refuse(413) }
            request!.body += input.bytes[step.data]
            input.consume(step.consumed)
        } while !step.isFinished && !input.isEmpty
        guard step.isFinished else {
            guard wantsContinue && request!.body.isEmpty else { return .needMore }
            wantsContinue = false
            return .continueWanted
        }
        let whole = request!
        request = nil
        phase = .head
        isFirst = false
        return .request(whole, rules)
    }

    private func makeRequest(
        _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer
    ) -> ServerRequest {
        let pathAndQuery = Self.text(target.path.bytes(in: bytes))
        let cut = pathAndQuery.utf8.firstIndex(of: ASCII.question)
        let path = cut.map { String(pathAndQuery[..<$0]) } ?? pathAndQuery
        var request = ServerRequest(
            method: Self.text(head.methodBytes.bytes(in: bytes)),
            target: Self.text(head.target.bytes(in: bytes)),
            path: target.form == .asterisk ? "*" : path.isEmpty ? "/" : path,
            query: cut.map { String(pathAndQuery[pathAndQuery.utf8.index(after: $0)...]) },
            peerPort: peerPort)
        request.fields.reserveCapacity(head.fieldCount)
        for index in 0..<head.fieldCount {
            let field = head.fields[index]
            let name = Self.text(field.name.bytes(in: bytes))
            if let headGuard, headGuard.consumedFields.contains(name.lowercased()) { continue }
            request.fields.append(ServerField(name, Self.text(field.value.bytes(in: bytes))))
        }
        // The authority of an absolute form stands in place of Host (RFC 9112 section 3.2.2).
        if target.form == .absolute {
            request.fields.removeAll { $0.name.lowercased() == "host" }
            request.fields.insert(
                ServerField("Host", Self.text(target.authority.bytes(in: bytes))), at: 0)
        }
        return request
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    private static func status(of error: WireError) -> Int {
        if error.isTooLarge { return 431 }
        return switch error {
        case .unsupportedVersion: 505
        case .unsupportedTransferEncoding: 501
        default: 400
        }
    }
}
