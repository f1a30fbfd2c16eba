// Feeds both ends of HTTP/2 with a peer's bytes. Whatever they are, the session tells the same however they are
// cut, every head that it calls flawless is one that the parser of HTTP/1.1 can judge, nothing is told of
// a stream behind its end, and what it answers is bounded.

import Bytes
import HTTP2Wire
import HTTPWire

/// What a session told, as far as it can be compared.
private enum Told: Equatable {
    case head(Int32, [UInt8], ends: Bool, WireError?)
    case interim(Int32, [UInt8])
    case trailers(Int32, [UInt8])
    case closed(Int32, ErrorCode)
    case goingAway
}

private struct Reading: Equatable {
    var told: [Told] = []
    var bodies: [Int32: [UInt8]] = [:]
    var whole: Set<Int32> = []
    var isCutShort = false

    /// A request that ends by an empty frame has no body where that came with the head, else one without a byte.
    mutating func forgetEmptyBodies() {
        for index in told.indices {
            guard case .head(let id, let text, let ends, let flaw) = told[index] else { continue }
            let hasTrailers = told.contains {
                if case .trailers(id, _) = $0 { true } else { false }
            }
            guard !hasTrailers, bodies[id]?.isEmpty ?? true, ends || whole.contains(id) else {
                continue
            }
            told[index] = .head(id, Self.withoutFraming(text), ends: true, flaw)
            bodies[id] = nil
            whole.insert(id)
        }
    }

    private static func withoutFraming(_ text: [UInt8]) -> [UInt8] {
        for line in ["transfer-encoding: chunked\r\n\r\n", "content-length: 0\r\n\r\n"]
        where text.suffix(line.utf8.count).elementsEqual(line.utf8) {
            return text.dropLast(line.utf8.count) + Array("\r\n".utf8)
        }
        return text
    }

    /// How much of a body is told before its stream breaks a rule depends on the pieces.
    mutating func forgetBrokenBodies() {
        for case .closed(let id, let code) in told where code != .none { bodies[id] = nil }
    }
}

private let limits: SessionLimits = {
    var limits = SessionLimits()
    limits.streamsMax = 8
    limits.head = HeadLimits(headBytesMax: 2048, fieldsMax: 16)
    limits.trailerBytesMax = 256
    return limits
}()

/// The first byte chooses the end and what it does with heads, the second is the size of the pieces.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard input.count > 2 else { return 0 }
    var bytes = Array(input[2...])
    let isServer = input[0] & 1 == 0
    if isServer {
        let preface = ServerSession.preface
        bytes.insert(
            contentsOf: UnsafeBufferPointer(
                start: preface.utf8Start, count: preface.utf8CodeUnitCount), at: 0)
    }
    var whole = read(bytes, choice: input[0], piece: bytes.count)
    var pieces = read(bytes, choice: input[0], piece: Int(input[1]) + 1)
    whole.forgetBrokenBodies()
    pieces.forgetBrokenBodies()
    whole.forgetEmptyBodies()
    pieces.forgetEmptyBodies()
    // A connection that is ended hears no more, and notices so at the end of a piece; so does a stream that
    // we reset.
    let resets = input[0] & 4 == 4
    if !resets && !whole.isCutShort && !pieces.isCutShort {
        precondition(whole == pieces, "a connection means the same however it is cut")
    }
    return 0
}

private func read(_ bytes: [UInt8], choice: UInt8, piece: Int) -> Reading {
    let session = choice & 1 == 0 ? ServerSession(limits) : ClientSession(limits) as Session
    if let client = session as? ClientSession {
        for number in 0..<3 {
            var text = Array("GET /\(number) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
            _ = text.withUnsafeMutableBytes {
                client.request($0, isSecure: false, endsStream: number != 1)
            }
        }
    }
    // What a client sends must have left before it is answered.
    var output = ByteBuffer()
    if choice & 1 == 1 { session.produce(into: &output, upTo: 1 << 20) }
    var reading = Reading()
    var start = 0
    while start < bytes.count && !session.isOver {
        let end = min(start + piece, bytes.count)
        // A buffer of exactly this size, so that the address sanitizer sees a step too far.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: end - start, alignment: 1)
        defer { buffer.deallocate() }
        buffer.copyBytes(from: bytes[start..<end])
        session.receive(UnsafeRawBufferPointer(buffer), now: 1) { event in
            note(event, of: session, choice, into: &reading)
        }
        start = end
    }
    session.produce(into: &output, upTo: 1 << 20)
    session.deliver { note($0, of: session, choice, into: &reading) }
    precondition(output.count < 1 << 16 + 64 * bytes.count, "an answer is no larger than its cause")
    precondition(session.streamCount <= limits.streamsMax + 1, "streams have a limit")
    reading.isCutShort = session.isOver || endsConnection(output.bytes)
    return reading
}

private func note(
    _ event: SessionEvent, of session: Session, _ choice: UInt8, into reading: inout Reading
) {
    switch event {
    case .head(let stream, let range, let ends, let flaw):
        let text = session.text(in: range)
        if flaw == nil { judge(text, isRequest: session is ServerSession) }
        reading.told.append(.head(stream.id, flaw == nil ? Array(text) : [], ends: ends, flaw))
        if choice & 2 == 2, let server = session as? ServerSession { answer(stream, server) }
        if choice & 4 == 4 { session.reset(stream, .cancel) }
    case .interim(let stream, let range):
        reading.told.append(.interim(stream.id, Array(session.text(in: range))))
    case .data(let stream, let bytes, let ends):
        precondition(!reading.whole.contains(stream.id), "no body goes on behind its end")
        reading.bodies[stream.id, default: []] += bytes
        if ends { reading.whole.insert(stream.id) }
        if choice & 8 == 8 { session.consume(bytes.count, of: stream) }
    case .trailers(let stream, let range):
        precondition(!reading.whole.contains(stream.id), "trailers come once, at the end")
        reading.whole.insert(stream.id)
        reading.told.append(.trailers(stream.id, Array(session.text(in: range))))
    case .closed(let stream, let code): reading.told.append(.closed(stream.id, code))
    case .goingAway: reading.told.append(.goingAway)
    case .drained: break
    }
}

/// One head and nothing behind it, or an error that the exchange answers.
private func judge(_ text: UnsafeRawBufferPointer, isRequest: Bool) {
    var parser = HeadParser(limits: HeadLimits(headBytesMax: 1 << 16, fieldsMax: 64))
    var head = MessageHead(fieldsMax: 64)
    do throws(WireError) {
        let outcome =
            isRequest
            ? try parser.request(in: text, into: &head)
            : try parser.response(in: text, into: &head)
        precondition(outcome == .complete && head.length == text.count, "one head, nothing more")
    } catch {
        return
    }
}

private func answer(_ stream: SessionStream, _ session: ServerSession) {
    var text = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n".utf8)
    text.withUnsafeMutableBytes { session.sendHead($0, on: stream, endsStream: false) }
    Array("ok".utf8).withUnsafeBytes { session.send($0, on: stream) }
    session.finish(stream, trailers: UnsafeRawBufferPointer(start: nil, count: 0))
    session.stopRequest(stream)
}

/// Whether there is a GOAWAY among the frames (RFC 9113 section 6.8).
private func endsConnection(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var offset = bytes.starts(with: "PRI".utf8) ? 24 : 0
    while offset + 9 <= bytes.count {
        if bytes[offset + 3] == 7 { return true }
        offset +=
            9 + (Int(bytes[offset]) << 16 | Int(bytes[offset + 1]) << 8 | Int(bytes[offset + 2]))
    }
    return false
}
