// What is piped in or pasted.

import Bytes
import Testing

@testable import proxy

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct Input {
    private func pipeHolding(_ text: String, isClosed: Bool = true) -> (
        reader: Int32, writer: Int32
    ) {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        let bytes = Array(text.utf8)
        write(ends[1], bytes, bytes.count)
        if isClosed { close(ends[1]) }
        return (ends[0], ends[1])
    }

    @Test func `is read whole up to the limit`() throws {
        let (reader, _) = pipeHolding("{\"a\":1}\n")
        defer { close(reader) }
        let text = try readAllBlocking(reader, bytesMax: 8)
        #expect(text == SecretBytes("{\"a\":1}\n"))
    }

    @Test func `is refused beyond the limit, when empty and when unreadable`() {
        let (long, _) = pipeHolding("123456789")
        let (empty, _) = pipeHolding("")
        defer { for reader in [long, empty] { close(reader) } }
        #expect(throws: InputError.tooLarge(limit: 8)) { try readAllBlocking(long, bytesMax: 8) }
        #expect(throws: InputError.empty) { try readAllBlocking(empty, bytesMax: 8) }
        #expect(throws: InputError.unreadable(EBADF)) { try readAllBlocking(-1, bytesMax: 8) }
    }

    @Test func `comes line by line, the last one without its end`() async {
        let (reader, _) = pipeHolding("one\r\n\ntwo, which is too long\nlast")
        var lines: [SecretBytes] = []
        for await line in linesTyped(on: reader, bytesMax: 8) { lines.append(line) }
        close(reader)
        #expect(lines == ["one", "", "two, whi", "last"].map { SecretBytes($0) })
    }

    @Test func `is left alone once nobody listens`() async throws {
        let (reader, writer) = pipeHolding("first\n", isClosed: false)
        defer {
            close(reader)
            close(writer)
        }
        let stream = linesTyped(on: reader)
        let task = Task {
            for await line in stream { #expect(line == SecretBytes("first")) }
        }
        task.cancel()
        await task.value
        write(writer, "x", 1)
        var entry = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
        try #require(poll(&entry, 1, 10_000) == 1)
        var block = [UInt8](repeating: 0, count: 16)
        let count = read(reader, &block, block.count)
        #expect(count > 0 && block[count - 1] == 0x78)
    }
}
