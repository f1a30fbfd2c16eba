// A loop with a recording stream on one end of a socket pair and a plain descriptor on the other.

import Glibc
import Reactor
import Testing

/// Records what happens to it.
final class RecordingStream: ByteStream {
    var received: [UInt8] = []
    var events: [String] = []

    override func didReceive(_ bytes: UnsafeMutableRawBufferPointer) {
        received += Array(bytes)
    }

    override func didEnd() { events.append("end") }
    override func didFail(_ error: ReactorError) { events.append("fail \(error.name)") }
    override func didFailWriting(_ error: ReactorError) { events.append("fail writing") }
    override func didFlush() { events.append("flush") }
    override func didLosePeer() { events.append("lost") }
    override func deadlinePassed(_ kind: DeadlineKind) { events.append("deadline \(kind.index)") }
    override func didClose() { events.append("close") }
}

/// The far end is non-blocking and closed with the pair.
final class StreamPair {
    let loop: EventLoop
    let near: RecordingStream
    private(set) var far: Int32

    convenience init() throws { try self.init(on: EventLoop()) }

    init(on loop: EventLoop) throws {
        self.loop = loop
        near = RecordingStream(on: loop)
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        try near.open(descriptor: ends[0])
        far = ends[1]
    }

    deinit {
        near.close()
        loop.runOnce()
        closeFar()
    }

    func closeFar() {
        if far >= 0 { close(far) }
        far = -1
    }

    func writeFar(_ text: String) {
        let bytes = Array(text.utf8)
        #expect(write(far, bytes, bytes.count) == bytes.count)
    }

    func readFar() -> [UInt8] {
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(far, &piece, piece.count)
            guard count > 0 else { return all }
            all += piece[..<count]
        }
    }

    /// Turns the loop for that long.
    func turn(for duration: Duration) {
        let end = ContinuousClock.now + duration
        while ContinuousClock.now < end {
            loop.runWithoutWaiting()
            usleep(1000)
        }
    }

    /// Turns the loop until the condition holds; ten seconds without that fail the test.
    func turn(until condition: () -> Bool, _ location: SourceLocation = #_sourceLocation) {
        let end = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < end {
            if condition() { return }
            loop.runWithoutWaiting()
            usleep(100)
        }
        Issue.record("the condition never held", sourceLocation: location)
    }
}
