import Bytes
import HTTPWire
import Testing

/// What came of a body.
private struct ReadBody: Equatable {
    var data: [UInt8] = []
    var trailers = ""
    var consumed = 0
    var isFinished = false
    var error: WireError?

    var text: String { String(decoding: data, as: UTF8.self) }
}

extension [UInt8] {
    /// Lets a reader decode these bytes in place.
    mutating func read(by reader: inout BodyReader) throws(WireError) -> BodyStep {
        let result = withUnsafeMutableBytes { bytes -> Result<BodyStep, WireError> in
            do throws(WireError) {
                return .success(try reader.read(bytes))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

/// Hands the bytes over in pieces that end at `cuts`, and stops at the end of the body.
private func readBody(
    _ framing: BodyFraming, _ bytes: [UInt8], cuts: [Int] = [], of direction: Direction = .request,
    limits: BodyLimits = .standard
) -> ReadBody {
    var reader = BodyReader(framing, of: direction, limits: limits)
    var body = ReadBody()
    var start = 0
    for cut in cuts + [bytes.count] where !body.isFinished {
        var piece = Array(bytes[start..<cut])
        start = cut
        do throws(WireError) {
            let step = try piece.read(by: &reader)
            body.data += piece[step.data]
            body.consumed += step.consumed
            body.isFinished = step.isFinished
            #expect(step.isFinished || step.consumed == piece.count)
        } catch {
            body.error = error
            return body
        }
    }
    let (isFinished, trailers) = (reader.isFinished, Array(reader.trailers.bytes))
    #expect(isFinished == body.isFinished)
    body.trailers = String(decoding: trailers, as: UTF8.self)
    return body
}

/// Whole, cut at every byte, byte by byte; and truncated at every byte, which never finishes.
private func readBodyInEveryWay(
    _ framing: BodyFraming, _ text: String, of direction: Direction = .request,
    limits: BodyLimits = .standard, sourceLocation: SourceLocation = #_sourceLocation
) -> ReadBody {
    let bytes = Array(text.utf8)
    var whole = readBody(framing, bytes, of: direction, limits: limits)
    if whole.error != nil {
        // How much data came before the error depends on the pieces; that it comes does not.
        whole.data = []
        whole.consumed = 0
    }
    for cuts in (0...bytes.count).map({ [$0] }) + [Array(0...bytes.count)] {
        var split = readBody(framing, bytes, cuts: cuts, of: direction, limits: limits)
        if split.error != nil {
            split.data = []
            split.consumed = 0
        }
        #expect(split == whole, "cut at \(cuts)", sourceLocation: sourceLocation)
    }
    for count in 0..<(whole.isFinished ? whole.consumed : bytes.count) {
        let part = readBody(framing, Array(bytes[..<count]), of: direction, limits: limits)
        #expect(!part.isFinished, "truncated to \(count)", sourceLocation: sourceLocation)
        #expect(
            part.error == nil || part.error == whole.error, "truncated to \(count)",
            sourceLocation: sourceLocation)
    }
    return whole
}

@Suite struct `Body` {
    @Test func `of a length ends after its last byte`() {
        let body = readBodyInEveryWay(.length(5), "helloGET / HTTP/1.1")
        #expect(body.text == "hello")
        #expect(body.consumed == 5)
        #expect(body.isFinished)
    }

    @Test(arguments: [BodyFraming.none, .length(0)])
    func `of no length is finished before it begins`(framing: BodyFraming) throws {
        let reader = BodyReader(framing)
        let isFinished = reader.isFinished
        #expect(isFinished)
        let body = readBodyInEveryWay(framing, "GET / HTTP/1.1")
        #expect(body == ReadBody(isFinished: true))
    }

    @Test func `until the close is all there is`() throws {
        #expect(readBodyInEveryWay(.untilClose, "0\r\n\r\nhello").text == "0\r\n\r\nhello")
        var reader = BodyReader(.untilClose)
        try reader.end()
        let isFinished = reader.isFinished
        #expect(isFinished)
    }

    @Test(arguments: [BodyFraming.length(1), .chunked])
    func `cut short by the peer is an error`(framing: BodyFraming) {
        #expect(throws: WireError.truncated) {
            var reader = BodyReader(framing)
            try reader.end()
        }
    }

    @Test func `tells how much of a length is left`() throws {
        var reader = BodyReader(.length(.init(Int64.max)))
        var piece: [UInt8] = [1, 2, 3]
        _ = try piece.read(by: &reader)
        let left = reader.knownRemaining
        #expect(left == UInt64(Int64.max) - 3)
    }
}

@Suite struct `Chunked body` {
    @Test func `is decoded into one run`() {
        let body = readBodyInEveryWay(
            .chunked, "3\r\nabc\r\n1\r\nd\r\n00A\r\n0123456789\r\n0\r\n\r\nGET")
        #expect(body.text == "abcd0123456789")
        #expect(body.isFinished)
        #expect(body.consumed == "3\r\nabc\r\n1\r\nd\r\n00A\r\n0123456789\r\n0\r\n\r\n".utf8.count)
    }

    @Test func `may hold what looks like chunks`() {
        let body = readBodyInEveryWay(.chunked, "5\r\n0\r\n\r\n\r\n0\r\n\r\n")
        #expect(body.text == "0\r\n\r\n")
        #expect(body.isFinished)
    }

    @Test func `may be empty`() {
        let body = readBodyInEveryWay(.chunked, "0\r\n\r\n")
        #expect(body == ReadBody(consumed: 5, isFinished: true))
    }

    @Test(arguments: [
        "3;a\r\nabc\r\n0;b=c\r\n\r\n", "3;a=\"x;y\"\r\nabc\r\n0\r\n\r\n",
        "3 ; a\r\nabc\r\n0\t;b\r\n\r\n", "3;\r\nabc\r\n0;;\r\n\r\n", "3;\u{e9}\r\nabc\r\n0\r\n\r\n",
        "000000000000000000003\r\nabc\r\n000\r\n\r\n",
    ])
    func `may have extensions, which mean nothing`(text: String) {
        let body = readBodyInEveryWay(.chunked, text)
        #expect(body.text == "abc")
        #expect(body.isFinished)
    }

    @Test(arguments: [
        ("g\r\n", WireError.invalidChunkSize), ("\r\n", .invalidChunkSize),
        (";a\r\n", .invalidChunkSize), (" 3\r\nabc\r\n", .invalidChunkSize),
        ("3 \r\nabc\r\n", .invalidChunkSize), ("3 4\r\nabc\r\n", .invalidChunkSize),
        ("+3\r\nabc\r\n", .invalidChunkSize), ("-1\r\n", .invalidChunkSize),
        ("0x3\r\nabc\r\n", .invalidChunkSize), ("3_0\r\n", .invalidChunkSize),
        ("3\nabc\n0\n\n", .invalidChunkSize), ("3\rabc", .bareLineBreak),
        ("3;a\nabc", .invalidChunkExtension), ("3;a\0\r\n", .invalidChunkExtension),
        ("3;a\rb\r\n", .bareLineBreak), ("3\r\nabcd\r\n", .invalidChunkEnd),
        ("3\r\nabc\n0\r\n", .invalidChunkEnd), ("3\r\nabc\rX", .bareLineBreak),
        ("3\r\nabc0\r\n\r\n", .invalidChunkEnd), ("8000000000000000\r\n", .invalidChunkSize),
        ("FFFFFFFFFFFFFFFF\r\n", .invalidChunkSize),
        ("10000000000000000\r\n", .invalidChunkSize),
        ("100000000000000003\r\nabc\r\n", .invalidChunkSize),
        ("0\r\n\n", .bareLineBreak), ("0\r\n\rX", .bareLineBreak), ("0\r\nX", .truncated),
        ("0\r\n X: y\r\n\r\n", .obsoleteFold), ("0\r\nX : y\r\n\r\n", .invalidFieldName),
        ("0\r\nGET / HTTP/1.1\r\n\r\n", .invalidFieldName), ("0\r\nX: \0\r\n\r\n", .controlByte),
        ("0\r\nX: y\n\r\n", .bareLineBreak),
    ])
    func `that two readers could read in two ways is refused`(text: String, error: WireError) {
        let body = readBodyInEveryWay(.chunked, text)
        #expect(!body.isFinished)
        #expect(body.error == (error == .truncated ? nil : error))
    }

    @Test(arguments: ["3 \r\nabc\r\n0\t \r\n", "3   \r\nabc\r\n0\r\nX-Sum \t: 9\r\n"])
    func `of a response may have the white space that clients take from servers`(text: String) {
        let body = readBodyInEveryWay(.chunked, text + "\r\n", of: .response)
        #expect(body.text == "abc" && body.isFinished)
        #expect(body.trailers.isEmpty || body.trailers == "X-Sum: 9\r\n")
        #expect(readBodyInEveryWay(.chunked, text + "\r\n").error != nil, "not of a request")
        for text in ["3 4\r\n", " 3\r\n", "3 \nabc", "3 \rX", "0\r\n : x\r\n"] {
            #expect(readBodyInEveryWay(.chunked, text, of: .response).error != nil, "\(text)")
        }
    }

    @Test func `a chunk of the greatest size is no overflow`() {
        #expect(readBodyInEveryWay(.chunked, "7FFFFFFFFFFFFFFF\r\nabc").text == "abc")
    }

    @Test func `a size line has a limit`() {
        let limits = BodyLimits(chunkLineBytesMax: 8)
        #expect(
            readBodyInEveryWay(.chunked, "1;345678\r\na\r\n0\r\n\r\n", limits: limits).isFinished)
        for line in ["1;3456789", "000000001", "1        "] {
            #expect(
                readBodyInEveryWay(.chunked, line, limits: limits).error
                    == .chunkLineTooLong(limit: 8))
        }
    }

    /// C123.
    @Test func `hands its trailers on as lines`() {
        let body = readBodyInEveryWay(
            .chunked, "3\r\nabc\r\n0\r\ngrpc-status: 0\r\nX-Sum:\t9 \r\nEmpty:\r\n\r\nrest")
        #expect(body.text == "abc")
        #expect(body.trailers == "grpc-status: 0\r\nX-Sum: 9\r\nEmpty: \r\n")
        #expect(body.isFinished)
    }

    /// C123, RFC 9110 section 6.5.1.
    @Test func `discards trailers that frame, route or authenticate`() {
        let body = readBodyInEveryWay(
            .chunked,
            "0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nhost: evil\r\n"
                + "Authorization: Bearer x\r\nSet-Cookie: a=b\r\nCookie: a\r\nConnection: X\r\n"
                + "Trailer: X\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 1\r\n"
                + "Proxy-Authorization: x\r\nWWW-Authenticate: Bearer\r\nContent-Type: a/b\r\n"
                + "Content-Encoding: gzip\r\nContent-Range: x\r\nCache-Control: no-store\r\n"
                + "Expect: 100-continue\r\nX-Sum: 9\r\nLocation: /\r\n"
                + "Content_Length: 5\r\nX.Forwarded.For: 1.2.3.4\r\n\r\n")
        #expect(body.trailers == "X-Sum: 9\r\n")
    }

    @Test func `its trailers have a limit`() {
        let limits = BodyLimits(trailerBytesMax: 20)
        let fits = readBodyInEveryWay(.chunked, "0\r\nX: 345678\r\nY: 234\r\n\r\n", limits: limits)
        #expect(fits.isFinished)
        let long = readBodyInEveryWay(.chunked, "0\r\nX: 3456789012345678901", limits: limits)
        #expect(long.error == .trailersTooLarge(limit: 20))
        let many = readBodyInEveryWay(
            .chunked, "0\r\n" + String(repeating: "a:\r\n", count: 6), limits: limits)
        #expect(many.error == .trailersTooLarge(limit: 20))
    }

    @Test func `one reader reads body after body`() throws {
        var reader = BodyReader(.chunked)
        func read(_ text: String) throws(WireError) -> String {
            var bytes = Array(text.utf8)
            let step = try bytes.read(by: &reader)
            #expect(step.isFinished)
            return String(decoding: bytes[step.data], as: UTF8.self)
        }
        #expect(try read("3\r\nabc\r\n0\r\nX: y\r\n\r\n") == "abc")
        reader.start(.length(2))
        let trailers = reader.trailers.count
        #expect(trailers == 0)
        #expect(try read("de") == "de")
        reader.start(.chunked)
        #expect(try read("1\r\nf\r\n0\r\n\r\n") == "f")
    }
}
