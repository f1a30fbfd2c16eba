import Bytes
import HTTPWire
import Testing

@Suite struct `Head writer` {
    private func written(_ write: (inout ByteBuffer) -> Void) -> String {
        var buffer = ByteBuffer()
        write(&buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    private func bytes<Result>(
        _ text: String, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        Array(text.utf8).withUnsafeBytes(body)
    }

    @Test func `writes heads that the parser reads back`() throws {
        let response = written { output in
            HeadWriter.appendStatusLine(503, into: &output)
            HeadWriter.appendField("Retry-After", "5", into: &output)
            HeadWriter.appendFraming(.length(0), into: &output)
            HeadWriter.appendEnd(into: &output)
        }
        #expect(
            response
                == "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n"
        )
        let head = try #require(readHead(.response(to: .get), response).head)
        #expect(head.status == 503)
        #expect(head.framing == .success(.length(0)))

        let request = written { output in
            bytes("GET") { method in
                bytes("/a?b") { target in
                    HeadWriter.appendRequestLine(method: method, target: target, into: &output)
                }
            }
            bytes("localhost") { HeadWriter.appendField("Host", $0, into: &output) }
            HeadWriter.appendFraming(.chunked, into: &output)
            HeadWriter.appendEnd(into: &output)
        }
        #expect(
            request
                == "GET /a?b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(readHead(.request, request).head?.framing == .success(.chunked))
    }

    @Test func `writes no framing where there is none to tell`() {
        #expect(written { HeadWriter.appendFraming(.none, into: &$0) } == "")
        #expect(written { HeadWriter.appendFraming(.untilClose, into: &$0) } == "")
    }

    @Test func `a status without a phrase keeps its space`() {
        #expect(written { HeadWriter.appendStatusLine(599, into: &$0) } == "HTTP/1.1 599 \r\n")
        let line = written { output in
            bytes("") { HeadWriter.appendStatusLine(200, reason: $0, into: &output) }
        }
        #expect(line == "HTTP/1.1 200 \r\n")
    }

    @Test func `makes the lines of fields tight and leaves their values alone`() throws {
        let message = "GET / HTTP/1.1\r\nHost:a\r\nX:  y \t\r\nTight: v w\r\n\r\n"
        var parser = HeadParser()
        var head = MessageHead()
        let lines = bytes(message) { bytes in
            _ = try? parser.request(in: bytes, into: &head)
            return written { output in
                for index in 0..<head.fieldCount {
                    HeadWriter.appendField(head.fields[index], in: bytes, into: &output)
                }
            }
        }
        #expect(lines == "Host: a\r\nX: y\r\nTight: v w\r\n")
    }

    @Test func `writes chunks that the reader reads back`() throws {
        var bytes = Array(
            written { output in
                HeadWriter.appendChunkHead(size: 26, into: &output)
                output.append("abcdefghijklmnopqrstuvwxyz")
                HeadWriter.appendChunkEnd(into: &output)
                let trailers: StaticString = "X-Sum: 9\r\n"
                HeadWriter.appendLastChunk(
                    trailers: UnsafeRawBufferPointer(
                        start: trailers.utf8Start, count: trailers.utf8CodeUnitCount),
                    into: &output)
            }.utf8)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nX-Sum: 9\r\n\r\n")
        var reader = BodyReader(.chunked)
        let step = try bytes.read(by: &reader)
        #expect(step.data == 4..<30)
        #expect(step.consumed == bytes.count && step.isFinished)
        #expect(written { HeadWriter.appendLastChunk(into: &$0) } == "0\r\n\r\n")
    }
}
