// What becomes of lines when nobody reads them: whoever logs goes on, memory is bounded, and what was
// lost is told.

import Bytes
import Glibc
import Support
import Synchronization
import Testing

@testable import Diagnostics

@Suite struct `A log that nobody reads` {
    /// A pipe whose reader does nothing, and a thread that writes to it.
    private final class Pipe: Sendable {
        let reader: Int32
        let writer: Int32
        let queue: LogQueue
        let ended = Gate()

        init(bytesMax: Int) throws {
            var ends: [Int32] = [-1, -1]
            let code = pipe(&ends)
            try #require(code == 0)
            (reader, writer) = (ends[0], ends[1])
            queue = try #require(LogQueue(.json, bytesMax: bytesMax))
            let (queue, writer, ended) = (queue, writer, ended)
            OwnThread.start {
                queue.run(writingTo: writer)
                ended.open()
            }
        }

        /// Everything that comes until the writer's end is closed.
        func readToEnd() -> [String] {
            var bytes: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(reader, &piece, piece.count), count > 0 {
                bytes += piece[..<count]
            }
            close(reader)
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    init() { signal(SIGPIPE, SIG_IGN) }

    @Test func `delays nobody, holds what fits and tells how much did not`() throws {
        let pipe = try Pipe(bytesMax: 64 * 1024)
        let log = Log(level: .info, format: .json, to: .queue(pipe.queue))
        let total = 20_000
        let elapsed = ContinuousClock().measure {
            for number in 0..<total { log.info("a line", ("number", .number(Int64(number)))) }
        }
        // A single blocked write would be for ever.
        #expect(elapsed < .seconds(20))
        let lost = pipe.queue.lost
        #expect(lost > 0 && lost < total)
        // Now somebody reads: everything that was kept comes, in order, and then the number.
        let read = Mutex<[String]?>(nil)
        OwnThread.start {
            let lines = pipe.readToEnd()
            read.withLock { $0 = lines }
        }
        pipe.queue.finish(waitingMilliseconds: 20_000)
        try pipe.ended.pass()
        close(pipe.writer)
        let kept = try waited(for: "all lines", within: .seconds(20)) { read.withLock { $0 } }
        #expect(kept.filter { $0.contains("\"a line\"") }.count == total - Int(lost))
        let told = kept.filter { $0.contains("log lines were lost") }
        let sum = told.reduce(UInt64(0)) { sum, line in
            sum + (UInt64(line.drop { $0 != "," }.filter(\.isNumber)) ?? 0)
        }
        #expect(!told.isEmpty && sum == lost, "\(told)")
        #expect(kept.allSatisfy { $0.hasPrefix("{\"time\":") && $0.hasSuffix("}") })
    }

    @Test func `waits no longer than it is told at the end`() throws {
        let pipe = try Pipe(bytesMax: 1 << 20)
        let block = [UInt8](repeating: 0x61, count: 200_000) + [0x0A]
        block.withUnsafeBytes { pipe.queue.append($0, lines: 1) }
        let elapsed = ContinuousClock().measure { pipe.queue.finish(waitingMilliseconds: 50) }
        #expect(elapsed >= .milliseconds(45) && elapsed < .seconds(20))
        close(pipe.reader)
        try pipe.ended.pass()
        close(pipe.writer)
    }

    @Test func `goes on when the reader has gone, and counts what it drops`() throws {
        let pipe = try Pipe(bytesMax: 1 << 20)
        close(pipe.reader)
        let log = Log(level: .info, format: .json, to: .queue(pipe.queue))
        log.info("for nobody")
        try waited(for: "the loss", within: .seconds(20)) { pipe.queue.lost == 1 ? () : nil }
        pipe.queue.finish(waitingMilliseconds: 20_000)
        close(pipe.writer)
    }

    @Test func `a full disk loses nothing that fits: it is tried again`() throws {
        // /dev/full says ENOSPC; the same descriptor becomes a file that has room.
        let full = open("/dev/full", O_WRONLY)
        let directory = try TemporaryDirectory()
        let queue = try #require(LogQueue(.json))
        let log = Log(level: .info, format: .json, to: .queue(queue))
        log.info("first")
        OwnThread.start { queue.run(writingTo: full) }
        let file = open(directory.path("log"), O_WRONLY | O_CREAT, 0o600)
        #expect(dup2(file, full) == full)
        log.info("second")
        queue.finish(waitingMilliseconds: 20_000)
        let text = try #require(try Files.read(directory.path("log"))).text
        #expect(text.split(separator: "\n").count == 2 && queue.lost == 0, "\(text)")
        close(full)
        close(file)
    }
}

@Suite struct `A log's level` {
    @Test func `may change while it runs`() throws {
        let directory = try TemporaryDirectory()
        let file = open(directory.path("log"), O_WRONLY | O_CREAT, 0o600)
        defer { close(file) }
        let log = Log(level: .warning, format: .text, to: .descriptor(file))
        log.info("one")
        log.setLevel(.debug)
        log.debug("two")
        log.setLevel(.off)
        log.error("three")
        let text = try #require(try Files.read(directory.path("log"))).text
        #expect(text.hasSuffix(" debug two\n") && text.split(separator: "\n").count == 1)
        #expect(!log.isEnabled(.error))
    }
}
