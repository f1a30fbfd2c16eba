import Glibc
import Reactor
import Testing

/// Its far end has always more to send.
private final class EndlessStream: ByteStream {
    var received = 0
    private var far: Int32 = -1
    private let piece = [UInt8](repeating: 1, count: 200_000)

    func begin() throws {
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        far = ends[1]
        _ = fcntl(far, F_SETFL, O_NONBLOCK)
        try open(descriptor: ends[0])
        _ = write(far, piece, piece.count)
    }

    override func didReceive(_ bytes: UnsafeMutableRawBufferPointer) {
        received += bytes.count
        _ = write(far, piece, piece.count)
    }

    override func didClose() { Glibc.close(far) }
}

@Suite struct `Byte stream` {
    @Test func `hands over bytes in order and tells the end`() throws {
        let pair = try StreamPair()
        pair.near.startReading()
        pair.writeFar("hello ")
        pair.turn { pair.near.received.count == 6 }
        pair.writeFar("there")
        pair.closeFar()
        pair.turn { pair.near.events == ["end"] }
        #expect(pair.near.received == Array("hello there".utf8))
        #expect(pair.near.hasEnded)
    }

    @Test func `is read so far in one turn, however much comes, and then goes on`() throws {
        let pair = try StreamPair()
        let loop = pair.loop
        // A loop with nothing to wait for takes no turn.
        pair.near.startReading()
        let stream = EndlessStream(on: loop)
        try stream.begin()
        stream.startReading()
        var before = 0
        for _ in 0..<20 {
            loop.runWithoutWaiting()
            #expect(stream.received > before && stream.received - before <= 400_000)
            before = stream.received
        }
        stream.stopReading()
        loop.runWithoutWaiting()
        before = stream.received
        loop.runWithoutWaiting()
        #expect(stream.received == before)
        stream.close()
        loop.runOnce()
    }

    @Test func `writes a few times in one turn and the rest together at its end`() throws {
        let pair = try StreamPair()
        pair.near.startReading()
        let piece = Array("x".utf8)
        var waited = 0
        for _ in 0..<100 {
            piece.withUnsafeBytes { pair.near.gather($0) }
            if case .waiting = pair.near.send() { waited += 1 }
        }
        #expect(waited == 92)
        #expect(pair.readFar().count == 8)
        pair.turn { pair.near.events == ["flush"] }
        #expect(pair.readFar().count == 92)
        piece.withUnsafeBytes { pair.near.gather($0) }
        guard case .sent = pair.near.send() else {
            Issue.record("it is another turn")
            return
        }
    }

    @Test func `ends behind what waits for the end of the turn`() throws {
        let pair = try StreamPair()
        pair.near.startReading()
        let piece = Array("x".utf8)
        for _ in 0..<100 {
            piece.withUnsafeBytes { pair.near.gather($0) }
            pair.near.send()
        }
        pair.near.end()
        var arrived = pair.readFar().count
        var byte: UInt8 = 0
        pair.turn {
            arrived += pair.readFar().count
            return arrived == 100 && read(pair.far, &byte, 1) == 0
        }
    }

    @Test func `sends pieces as one run of bytes`() throws {
        let pair = try StreamPair()
        for text in ["a", "bc", "", "def"] as [StaticString] {
            pair.near.gather(
                UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        }
        guard case .sent = pair.near.send() else {
            Issue.record("a small write should be taken at once")
            return
        }
        #expect(pair.readFar() == Array("abcdef".utf8))
    }

    @Test func `keeps what the kernel does not take and tells when it is out`() throws {
        let pair = try StreamPair()
        let big = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        big.withUnsafeBytes { bytes in
            pair.near.gather(UnsafeRawBufferPointer(rebasing: bytes[..<10]))
            pair.near.gather(UnsafeRawBufferPointer(rebasing: bytes[10...]))
            guard case .waiting = pair.near.send() else {
                Issue.record("three megabytes do not fit into a socket")
                return
            }
        }
        #expect(!pair.near.isFlushed)
        var arrived = pair.readFar()
        pair.turn {
            arrived += pair.readFar()
            return pair.near.events == ["flush"]
        }
        arrived += pair.readFar()
        #expect(arrived == big)
        #expect(pair.near.isFlushed)
    }

    @Test func `ends its side only after everything is out`() throws {
        let pair = try StreamPair()
        pair.near.startReading()
        let big = [UInt8](repeating: 7, count: 1_000_000)
        big.withUnsafeBytes { pair.near.gather($0) }
        pair.near.send()
        pair.near.end()
        var arrived = 0
        pair.turn {
            arrived += pair.readFar().count
            return arrived == big.count
        }
        var byte: UInt8 = 0
        pair.turn { read(pair.far, &byte, 1) == 0 }
        pair.writeFar("still heard")
        pair.turn { pair.near.received.count == 11 }
    }

    @Test func `a stopped stream reads nothing until it starts again`() throws {
        let pair = try StreamPair()
        pair.near.startReading()
        pair.near.stopReading()
        pair.writeFar("x")
        pair.loop.runWithoutWaiting()
        #expect(pair.near.received.isEmpty)
        #expect(pair.near.hasUnreadInput)
        pair.near.startReading()
        pair.turn { pair.near.received == [0x78] }
        #expect(!pair.near.hasUnreadInput)
    }

    @Test func `notices that the peer of a Unix socket is gone although it reads nothing`() throws {
        let pair = try StreamPair()
        // What keeps the loop turning.
        let other = try StreamPair(on: pair.loop)
        other.near.startReading()
        pair.near.startReading()
        pair.near.stopReading()
        pair.writeFar("unread")
        #expect(shutdown(pair.far, Int32(SHUT_WR)) == 0)
        pair.turn(for: .milliseconds(1200))
        // It may listen still.
        #expect(pair.near.events.isEmpty)
        pair.closeFar()
        pair.turn { pair.near.events == ["lost"] }
    }

    @Test func `takes an exchange of ends for no loss`() throws {
        let pair = try StreamPair()
        let other = try StreamPair(on: pair.loop)
        other.near.startReading()
        pair.near.startReading()
        pair.near.stopReading()
        pair.writeFar("unread")
        pair.near.end()
        pair.closeFar()
        pair.turn(for: .milliseconds(1200))
        #expect(pair.near.events.isEmpty)
        pair.near.startReading()
        pair.turn { pair.near.events == ["end"] }
        #expect(pair.near.received.count == 6)
    }

    @Test func `is read on where what waits cannot be written`() throws {
        signal(SIGPIPE, SIG_IGN)
        let pair = try StreamPair()
        // What keeps the loop turning.
        let other = try StreamPair(on: pair.loop)
        other.near.startReading()
        pair.writeFar("the last word")
        [UInt8](repeating: 7, count: 3_000_000).withUnsafeBytes { pair.near.gather($0) }
        guard case .waiting = pair.near.send() else {
            Issue.record("three megabytes do not fit into a socket")
            return
        }
        pair.closeFar()
        pair.turn { pair.near.events == ["fail writing"] }
        pair.near.startReading()
        pair.turn { pair.near.received.count == 13 && pair.near.events.count == 2 }
        #expect(pair.near.received == Array("the last word".utf8))
    }

    @Test func `a send to a peer that has gone fails and says that nothing left`() throws {
        signal(SIGPIPE, SIG_IGN)
        let pair = try StreamPair()
        pair.closeFar()
        "lost".utf8.withContiguousStorageIfAvailable {
            pair.near.gather(UnsafeRawBufferPointer($0))
            guard case .failed(nothingSent: true) = pair.near.send() else {
                Issue.record("the peer has gone")
                return
            }
        }
        #expect(pair.near.hasFailedWriting)
    }

    @Test func `closing inside an event is safe and is told last`() throws {
        final class Closing: ByteStream {
            var log: [String] = []
            override func didReceive(_ bytes: UnsafeMutableRawBufferPointer) {
                log.append("bytes")
                close()
                close()
            }
            override func didClose() { log.append("close") }
        }
        let loop = try EventLoop()
        let stream = Closing(on: loop)
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        try stream.open(descriptor: ends[0])
        stream.startReading()
        #expect(write(ends[1], "abc", 3) == 3)
        loop.run()
        #expect(stream.log == ["bytes", "close"])
        close(ends[1])
    }
}
