import Bytes
import HTTPWire
import Testing

@Suite struct `Request head` {
    @Test func `is read with its fields in order of arrival`() throws {
        let message =
            "POST /a?b=c HTTP/1.1\r\nHost: localhost:8080\r\nX-One:1\r\nx-one: \t2 \t\r\n"
            + "Content-Length: 5\r\nEmpty:\r\nBare: \r\n\r\nhello"
        let head = try #require(readHeadInEveryWay(.request, message).head)
        #expect(head.method == .post)
        #expect(head.methodText == "POST")
        #expect(head.target == "/a?b=c")
        #expect(head.minorVersion == 1)
        #expect(
            head.fields.map(\.name)
                == ["Host", "X-One", "x-one", "Content-Length", "Empty", "Bare"])
        #expect(head.values("X-One") == ["1", "2"])
        #expect(head.values("Empty") == [""])
        #expect(head.fields.map(\.isTight) == [true, false, false, true, false, true])
        #expect(
            head.fields.map(\.known) == [.host, .other, .other, .contentLength, .other, .other])
        #expect(head.length == message.utf8.count - 5)
        #expect(head.framing == .success(.length(5)))
        #expect(head.persists)
    }

    @Test(arguments: [
        ("GET", Method.get), ("HEAD", .head), ("POST", .post), ("PUT", .put),
        ("DELETE", .delete), ("OPTIONS", .options), ("TRACE", .trace), ("CONNECT", .connect),
        ("PATCH", .patch), ("get", .other), ("GETT", .other), ("G", .other), ("HEAP", .other),
        ("PROPFIND", .other), ("OPTIONZ", .other), ("M-SEARCH", .other),
    ])
    func `knows methods by their exact letters`(text: String, method: Method) throws {
        let message = "\(text) /x HTTP/1.1\r\nHost: a\r\n\r\n"
        let head = try #require(readHeadInEveryWay(.request, message).head)
        #expect(head.method == method)
        #expect(head.methodText == text)
    }

    @Test func `only what HTTP calls idempotent may be sent twice`() {
        #expect(
            Method.allCases.filter(\.isIdempotent)
                == [.get, .head, .put, .delete, .options, .trace])
        #expect(Method.allCases.filter(\.isSafe) == [.get, .head, .options, .trace])
    }

    /// C013, C035, C036.
    @Test(arguments: [
        "/api/vhosts/%2F/perm%2fissions?next=%2Fa%2Fb",
        "/a//b/?redirect_uri=//x.example//y&empty", "/a?", "/a??",
        "/year=2020/$meta/a+b/(c);v=1,2/~u/%7Eu/caf%C3%A9?x=a:b;c|d",
        "/\"<>\\^`{|}", "/%", "/%zz", "/../.././a",
    ])
    func `keeps the target byte for byte`(target: String) throws {
        let message = "GET \(target) HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"
        #expect(readHeadInEveryWay(.request, message).head?.target == target)
    }

    @Test func `refuses every byte that no target may hold, wherever it stands`() {
        for byte in UInt8.min...UInt8.max {
            for offset in [0, 1, 6, 7, 8, 9, 15, 16, 17] {
                var target = [UInt8](repeating: UInt8(ascii: "a"), count: 18)
                target[offset] = byte
                let message =
                    Array("GET ".utf8) + target + Array(" HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
                let isLegal = (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "#")
                let reading = readHead(.request, message)
                #expect((reading.head != nil) == isLegal, "byte \(byte) at \(offset)")
            }
        }
    }

    @Test func `refuses every byte that no value may hold, wherever it stands`() {
        for byte in UInt8.min...UInt8.max {
            for offset in 0..<18 {
                var value = [UInt8](repeating: UInt8(ascii: "a"), count: 18)
                value[offset] = byte
                let message =
                    Array("GET / HTTP/1.1\r\nHost: a\r\nX: ".utf8) + value + Array("\r\n\r\n".utf8)
                let isLegal = byte >= 0x20 && byte != 0x7F || byte == 0x09
                let reading = readHead(.request, message)
                #expect((reading.head != nil) == isLegal, "byte \(byte) at \(offset)")
                if !isLegal {
                    let isBreak = byte == 0x0A || byte == 0x0D
                    #expect(reading == .failed(isBreak ? .bareLineBreak : .controlByte))
                }
            }
        }
    }

    @Test func `refuses every byte that no name may hold`() {
        let marks = Array("!#$%&'*+-.^_`|~".utf8)
        for byte in UInt8.min...UInt8.max {
            let message =
                Array("GET / HTTP/1.1\r\nHost: a\r\nX".utf8) + [byte] + Array("Y: b\r\n\r\n".utf8)
            let isToken =
                ASCII.isDigit(byte) || (0x61...0x7A).contains(ASCII.lowercased(byte))
                || marks.contains(byte)
            let fields = readHead(.request, message).head?.fields
            let isName = fields?.last?.name.utf8.elementsEqual([0x58, byte, 0x59]) == true
            #expect(isName == isToken, "byte \(byte)")
        }
    }

    /// C056: what follows a head belongs to the next message.
    @Test func `ends where the next one begins`() {
        let first = "GET /1 HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"
        let second = "GET /2 HTTP/1.1\r\nHost: localhost:8080\r\nX: y\r\n\r\n"
        let bytes = Array((first + second).utf8)
        var parser = HeadParser()
        var head = MessageHead()
        var targets: [String] = []
        var offset = 0
        bytes.withUnsafeBytes { all in
            while offset < all.count {
                let rest = UnsafeRawBufferPointer(rebasing: all[offset...])
                guard let outcome = try? parser.request(in: rest, into: &head),
                    outcome == .complete
                else { break }
                targets.append(String(decoding: head.target.bytes(in: rest), as: UTF8.self))
                offset += head.length
            }
        }
        #expect(targets == ["/1", "/2"])
        #expect(offset == bytes.count)
    }

    @Test func `leaves nothing behind in a table that is used again`() throws {
        let first = "POST /1 HTTP/1.0\r\nConnection: close\r\nContent-Length: 3\r\n\r\n"
        let second = "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
        var parser = HeadParser()
        var head = MessageHead()
        for text in [first, second] {
            let outcome = try Array(text.utf8).withUnsafeBytes { bytes throws(WireError) in
                try parser.request(in: bytes, into: &head)
            }
            #expect(outcome == .complete)
        }
        let (count, persists) = (head.fieldCount, head.persists)
        let length = head.index(of: .contentLength)
        #expect(count == 1)
        #expect(persists)
        #expect(length == nil)
    }

    @Test func `can be given up and another begun`() throws {
        var parser = HeadParser()
        var head = MessageHead()
        let begun = try Array("GET /1 HTTP/1.1\r\nHost: a\r\nX".utf8).withUnsafeBytes {
            bytes throws(WireError) in try parser.request(in: bytes, into: &head)
        }
        #expect(begun == .needMore)
        parser.reset()
        let other = try Array("HTTP/1.1 204 Done\r\n\r\n".utf8).withUnsafeBytes {
            bytes throws(WireError) in try parser.response(in: bytes, into: &head)
        }
        #expect(other == .complete)
        let (status, count) = (head.status, head.fieldCount)
        #expect(status == 204)
        #expect(count == 0)
    }
}

@Suite struct `Response head` {
    @Test(arguments: [
        ("HTTP/1.1 200 OK", 200, "OK"), ("HTTP/1.1 200 ", 200, ""), ("HTTP/1.1 200", 200, ""),
        ("HTTP/1.0 404 Not  Found ", 404, "Not  Found "),
        ("HTTP/1.1 103 Early Hints", 103, "Early Hints"),
        ("HTTP/1.1 999 No", 999, "No"),
    ])
    func `has a status and perhaps a reason`(line: String, status: Int, reason: String) throws {
        let reading = readHeadInEveryWay(.response(to: .get), line + "\r\nA: b\r\n\r\nrest")
        let head = try #require(reading.head)
        #expect(head.status == status)
        #expect(String(decoding: head.reason, as: UTF8.self) == reason)
        #expect(head.minorVersion == (line.hasPrefix("HTTP/1.0") ? 0 : 1))
    }

    /// C025: nothing is merged, nothing is put into another order.
    @Test func `keeps repeated fields apart`() throws {
        let head = try #require(
            readHeadInEveryWay(
                .response(to: .get),
                "HTTP/1.1 200 OK\r\nSet-Cookie: sid=1; Path=/\r\nVary: A\r\n"
                    + "Set-Cookie: old=; Expires=Thu, 01 Jan 1970 00:00:00 GMT\r\nVary: B\r\n\r\n"
            ).head)
        #expect(
            head.values("set-cookie")
                == ["sid=1; Path=/", "old=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"])
        #expect(head.values("vary") == ["A", "B"])
        #expect(head.fields.map(\.name) == ["Set-Cookie", "Vary", "Set-Cookie", "Vary"])
    }

    /// RFC 9112 section 5.1; what is taken from servers is never taken from clients.
    @Test func `loses white space before a colon`() throws {
        let fields = "Server : x\r\nContent-Length\t : 3\r\nX-A: 1\r\n\r\n"
        let head = try #require(
            readHeadInEveryWay(.response(to: .get), "HTTP/1.1 200 OK\r\n" + fields).head)
        #expect(head.fields.map(\.name) == ["Server", "Content-Length", "X-A"])
        #expect(head.fields.map(\.isTight) == [false, false, true])
        #expect(head.framing == .success(.length(3)))
        let request = "GET / HTTP/1.1\r\nHost: a\r\n"
        #expect(readHeadInEveryWay(.request, request + fields).error == .invalidFieldName)
        for line in [" : x", ": x", "a b: x", "a b", "a ", "a", " a: x"] {
            let reading = readHeadInEveryWay(
                .response(to: .get), "HTTP/1.1 200 OK\r\n\(line)\r\n\r\n")
            #expect(reading.error != nil, "\(line)")
        }
    }

    /// C028.
    @Test func `keeps values that are no UTF-8 byte for byte`() throws {
        let message =
            Array("HTTP/1.1 200 OK\r\nSet-Cookie: n=".utf8) + [0xFF, 0xFE]
            + Array("; Path=/\r\n\r\n".utf8)
        let head = try #require(readHeadInEveryWay(.response(to: .get), message).head)
        #expect(head.fields[0].value == Array("n=".utf8) + [0xFF, 0xFE] + Array("; Path=/".utf8))
    }

    /// C031: each status line begins a head of its own.
    @Test func `may follow interim heads in the same bytes`() {
        let message =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
            + "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n"
        var rest = Array(message.utf8)
        var seen: [(Int, [String])] = []
        while !rest.isEmpty, let head = readHeadInEveryWay(.response(to: .get), rest).head {
            seen.append((head.status, head.fields.map(\.name)))
            rest.removeFirst(head.length)
        }
        #expect(seen.map(\.0) == [100, 103, 200])
        #expect(seen.map(\.1) == [[], ["Link"], ["Trailer", "Transfer-Encoding"]])
    }
}
