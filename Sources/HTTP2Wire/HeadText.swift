// Turns the fields of an HTTP/2 message into the text of an HTTP/1.1 head, so that one parser and one set of
// rules judge both. nghttp2 has seen to the order, the case and the bytes of the fields; what it cannot see,
// because it only matters once the fields are lines of text, is refused here.

import Bytes
import HTTPWire

/// Writes one head after the other behind the texts that are there.
struct HeadText: ~Copyable {
    private(set) var text = ByteBuffer()
    private(set) var flaw: WireError?
    /// Bytes of fields that came behind the flaw, each counted as RFC 7541 section 4.1 does.
    private(set) var excess = 0
    private let limits: HeadLimits
    private let trailerBytesMax: Int
    private var start = 0
    /// Between `begin` and `finish`.
    private(set) var isOpen = false
    private var fieldCount = 0
    /// Of names and values so far, with what separates them.
    private var byteCount = 0
    private var isFirstLineWritten = false
    private var kind = Kind.request

    private var method = ByteBuffer()
    private var path = ByteBuffer()
    private var authority = ByteBuffer()
    private var host = ByteBuffer()
    private var hasHost = false
    private var cookie = ByteBuffer()
    /// What an extended CONNECT asks for (RFC 8441 section 4).
    private var tunnelName = ByteBuffer()
    private var hasLength = false
    private var isUpload = false
    private(set) var status = 0
    private(set) var neverIndexed = NeverIndexed()

    enum Kind {
        case request, response, trailers
    }

    init(_ limits: SessionLimits) {
        self.limits = limits.head
        trailerBytesMax = limits.trailerBytesMax
    }

    /// Forgets what was delivered; a head that has come in part stays.
    mutating func removeDelivered() {
        text.consume(isOpen ? start : text.count)
        start = 0
    }

    /// Of a head that will be refused this many times the limit is decoded, so that the refusal can say
    /// why. A byte of a block can stand for kilobytes of a field.
    private static let excessFactor = 4

    /// The rest of the head is not worth its decoding.
    var isEndless: Bool { excess > Self.excessFactor * limits.headBytesMax }

    /// Forgets a head that will not come to its end.
    mutating func drop() { isOpen = false }

    mutating func begin(_ kind: Kind) {
        self.kind = kind
        isOpen = true
        start = text.count
        flaw = nil
        excess = 0
        fieldCount = 0
        byteCount = 0
        isFirstLineWritten = kind == .trailers
        hasHost = false
        hasLength = false
        isUpload = false
        status = 0
        neverIndexed = NeverIndexed()
        method.removeAll()
        path.removeAll()
        authority.removeAll()
        host.removeAll()
        cookie.removeAll()
        tunnelName.removeAll()
    }

    /// Whether the request asks for another protocol on its stream.
    var isTunnel: Bool { kind == .request && !tunnelName.isEmpty }

    /// Takes the next field; its name is in lower case.
    mutating func add(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isNeverIndexed: Bool
    ) {
        if isNeverIndexed { neverIndexed.insert(name) }
        guard flaw == nil else {
            excess += name.count + value.count + 32
            return
        }
        if name.first == ASCII.colon { return addPseudo(name, value) }
        if !isFirstLineWritten { writeFirstLine() }
        if kind == .request && ASCII.isEqual(name, "cookie") {
            // Crumbs become one field again (section 8.2.3), and count as one.
            guard hasRoom(name.count + value.count + 4) else { return }
            if cookie.isEmpty { fieldCount += 1 } else { cookie.append("; ") }
            cookie.append(value)
            return
        }
        fieldCount += 1
        guard fieldCount <= limits.fieldsMax else {
            flaw = .tooManyFields(limit: limits.fieldsMax)
            return
        }
        guard hasRoom(name.count + value.count + 4) else { return }
        if kind == .trailers {
            if KnownFieldSet.refusedInTrailers.contains(FieldSpelling.known(name)) { return }
        } else if kind == .request {
            switch name.count {
            case 4 where ASCII.isEqual(name, "host"):
                // Two of them, or another one than :authority, leave it open who was meant
                // (RFC 9113 section 8.3.1).
                if hasHost { flaw = .duplicateHost }
                hasHost = true
                host.append(value)
                return
            case 14 where ASCII.isEqual(name, "content-length"): hasLength = true
            case 17 where isTunnel && ASCII.isEqual(name, "sec-websocket-key"):
                // Here it means nothing (RFC 8441 section 5); the key of the handshake in HTTP/1 is ours.
                return
            default: break
            }
        }
        write(name, kind == .request ? value : Self.trimmed(value))
    }

    /// Without blanks around it, which an upstream may have sent.
    private static func trimmed(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var (start, end) = (0, value.count)
        while start < end, isBlank(value[start]) { start += 1 }
        while start < end, isBlank(value[end - 1]) { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: value[start..<end])
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == ASCII.space || byte == ASCII.tab
    }

    /// Ends the head and answers where its text is.
    mutating func finish(endsStream: Bool) -> Range<Int> {
        if flaw == nil && !isFirstLineWritten { writeFirstLine() }
        if kind == .request && flaw == nil { finishRequest(endsStream) }
        if kind != .trailers { text.append("\r\n") }
        isOpen = false
        return start..<text.count
    }

    /// What `finish` has written last, of a request whose body turned out to have no byte: some clients end every
    /// request by an empty frame of DATA, and servers refuse a GET with a body. Nil where it cannot be changed.
    mutating func withoutBody(_ range: Range<Int>) -> Range<Int>? {
        let line: StaticString = "transfer-encoding: chunked\r\n\r\n"
        let count = line.utf8CodeUnitCount
        guard kind == .request, !isOpen, flaw == nil, range.upperBound == text.count,
            range.count > count, text.bytes.suffix(count).elementsEqual(Self.bytes(line))
        else { return nil }
        text.removeLast(count)
        text.append(isUpload ? "content-length: 0\r\n\r\n" : "\r\n")
        return range.lowerBound..<text.count
    }

    private mutating func addPseudo(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) {
        guard hasRoom(name.count + value.count) else { return }
        switch name.count {
        case 5 where ASCII.isEqual(name, ":path"): path.append(value)
        case 7 where ASCII.isEqual(name, ":method"): method.append(value)
        case 7 where ASCII.isEqual(name, ":status"):
            status = value.reduce(0) { $0 &* 10 &+ Int($1 &- ASCII.zero) }
        case 9 where ASCII.isEqual(name, ":protocol"): tunnelName.append(value)
        case 10 where ASCII.isEqual(name, ":authority"): authority.append(value)
        default: break
        }
    }

    /// Counts what a field takes against the limit of the whole head.
    private mutating func hasRoom(_ count: Int) -> Bool {
        byteCount += count
        if kind == .trailers {
            guard byteCount > trailerBytesMax else { return true }
            flaw = .trailersTooLarge(limit: trailerBytesMax)
        } else {
            guard byteCount > limits.headBytesMax else { return true }
            flaw = .headTooLarge(limit: limits.headBytesMax)
        }
        return false
    }

    private mutating func writeFirstLine() {
        isFirstLineWritten = true
        if kind == .response {
            text.append("HTTP/1.1 ")
            text.append(decimal: UInt64(status))
            text.append(" \r\n")
            return
        }
        let isConnect = ASCII.isEqual(method.bytes, "CONNECT") && !isTunnel
        // An absolute form in here would name another authority than :authority does.
        let isPath =
            path.bytes.first == ASCII.slash || path.count == 1 && path.bytes.first == 0x2A
        guard isConnect || isPath else {
            flaw = .invalidTarget
            return
        }
        isUpload =
            ASCII.isEqual(method.bytes, "POST") || ASCII.isEqual(method.bytes, "PUT")
            || ASCII.isEqual(method.bytes, "PATCH")
        // In HTTP/1 the same is asked with GET and Upgrade (RFC 8441 section 5).
        if isTunnel { text.append("GET") } else { text.append(method.bytes) }
        text.append(ASCII.space)
        text.append(isConnect ? authority.bytes : path.bytes)
        text.append(" HTTP/1.1\r\n")
    }

    private mutating func finishRequest(_ endsStream: Bool) {
        // CONNECT has no content (RFC 9110 section 9.3.6). As the GET that this becomes it would announce a body
        // that nobody sends, and the next request would be read as that.
        if isTunnel && hasLength {
            flaw = .invalidContentLength
            return
        }
        if hasHost && !authority.isEmpty
            && !ASCII.equalsIgnoringCase(host.bytes, authority.bytes)
        {
            flaw = .authorityMismatch
            return
        }
        if !authority.isEmpty {
            write("host", authority.bytes)
        } else if hasHost {
            write("host", host.bytes)
        }
        if !cookie.isEmpty { write("cookie", cookie.bytes) }
        if isTunnel {
            write("connection", Self.bytes("upgrade"))
            write("upgrade", tunnelName.bytes)
            return
        }
        if hasLength { return }
        if !endsStream {
            text.append("transfer-encoding: chunked\r\n")
        } else if isUpload {
            // In HTTP/1 an upload without a length is taken for one that was cut off
            // (RFC 9110 section 8.6).
            text.append("content-length: 0\r\n")
        }
    }

    private mutating func write(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        text.append(name)
        text.append(": ")
        text.append(value)
        text.append("\r\n")
    }

    private mutating func write(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
        write(
            UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value)
    }

    private static func bytes(_ text: StaticString) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}
