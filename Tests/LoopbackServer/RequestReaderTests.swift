// The reader of requests without a socket: what comes out, whole, in two pieces and byte by byte.

import HTTPWire
import LoopbackServer
import Support
import Testing

@Suite struct `Request reader` {
    private let limits = ServerLimits(
        head: HeadLimits(headBytesMax: 512, fieldsMax: 8), bodyBytesMax: 8)

    /// The requests' methods and bodies, then the refusal's status.
    private func read(_ pieces: [ArraySlice<UInt8>]) -> [String] {
        var reader = RequestReader(limits: limits, peerPort: 1)
        var lines: [String] = []
        for piece in pieces {
            piece.withUnsafeBytes { reader.append($0) }
            var isWaiting = false
            while !isWaiting {
                switch reader.next() {
                case .needMore: isWaiting = true
                case .continueWanted: break
                case .request(let request, _):
                    lines.append("\(request.method) \(Octets(request.body).text)")
                case .turnedAway: lines.append("turned away")
                case .refused(let status): lines.append("\(status)")
                case .tlsHandshake: lines.append("TLS")
                }
            }
        }
        return lines
    }

    private static let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", ["GET ", "GET "]),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n12345678GET / HTTP/1.1\r\n\r\n",
            ["POST 12345678", "400"]
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n123456789", ["413"]),
        (chunked + "3\r\nabc\r\n5\r\ndefgh\r\n0\r\nX: y\r\n\r\n", ["POST abcdefgh"]),
        (chunked + "8\r\n12345678\r\n1\r\n9\r\n0\r\n\r\n", ["413"]),
        // Too large and malformed: what comes first decides.
        (chunked + "9\r\n123456789??", ["413"]),
        (chunked + "ff\r\n123456789\u{1}", ["413"]),
        (chunked + "8\r\n12345678??123456789", ["400"]),
        (chunked + "8\r\n12345678\r\n1\n9", ["400"]),
        ("\u{16}\u{3}\u{1}", ["TLS"]),
    ])
    func `reads the same however the bytes are cut`(text: String, expected: [String]) {
        let bytes = Array(text.utf8)
        #expect(read([bytes[...]]) == expected)
        for cut in 1..<bytes.count {
            #expect(read([bytes[..<cut], bytes[cut...]]) == expected, "cut at \(cut)")
        }
        #expect(read(bytes.indices.map { bytes[$0...$0] }) == expected)
    }
}
