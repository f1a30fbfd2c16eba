import Glibc
import Reactor
import Synchronization
import Testing

@Suite struct `Deadlines` {
    @Test func `pass in the order of their ends, once each`() throws {
        let (first, second) = (try StreamPair(), try StreamPair())
        // Two streams of one loop: the second pair's loop is unused.
        let other = RecordingStream(on: first.loop)
        first.loop.setDuration(DeadlineKind(0), milliseconds: 250)
        first.loop.setDuration(DeadlineKind(1), milliseconds: 50)
        first.near.arm(DeadlineKind(0))
        other.arm(DeadlineKind(1))
        first.near.startReading()
        first.turn { !other.events.isEmpty }
        #expect(first.near.events.isEmpty)
        first.turn { !first.near.events.isEmpty }
        #expect(other.events == ["deadline 1"])
        #expect(first.near.events == ["deadline 0"])
        other.close()
        first.turn { other.events.last == "close" }
        _ = second
    }

    @Test func `are forgotten when disarmed, armed anew or closed`() throws {
        let pair = try StreamPair()
        let witness = RecordingStream(on: pair.loop)
        pair.loop.setDuration(DeadlineKind(0), milliseconds: 50)
        pair.loop.setDuration(DeadlineKind(1), milliseconds: 400)
        let disarmed = RecordingStream(on: pair.loop)
        let closed = RecordingStream(on: pair.loop)
        disarmed.arm(DeadlineKind(0))
        closed.arm(DeadlineKind(0))
        pair.near.arm(DeadlineKind(0))
        pair.near.arm(DeadlineKind(1))
        witness.arm(DeadlineKind(0))
        disarmed.disarm()
        closed.close()
        pair.near.startReading()
        pair.turn { witness.events == ["deadline 0"] }
        #expect(disarmed.events.isEmpty)
        #expect(!closed.events.contains("deadline 0"))
        #expect(pair.near.events.isEmpty)
        disarmed.close()
        witness.close()
        pair.turn { disarmed.events == ["close"] }
    }

    @Test func `a duration of nothing means never`() throws {
        let pair = try StreamPair()
        let witness = RecordingStream(on: pair.loop)
        pair.loop.setDuration(DeadlineKind(1), milliseconds: 150)
        pair.near.arm(DeadlineKind(0))
        witness.arm(DeadlineKind(1))
        pair.near.startReading()
        pair.turn { !witness.events.isEmpty }
        #expect(pair.near.events.isEmpty)
        witness.close()
    }
}

@Suite struct `Waking a loop` {
    @Test func `wakes the loop from another thread and is harmless afterwards`() throws {
        let loop = try EventLoop()
        let turns = Atomic(0)
        let waker = try Waker(on: loop) {
            turns.add(1, ordering: .relaxed)
            loop.stop()
        }
        let thread = try LoopThread { waker.wake() }
        loop.run()
        thread.join()
        #expect(turns.load(ordering: .relaxed) == 1)
        waker.close()
        waker.wake()
        loop.run()
        #expect(turns.load(ordering: .relaxed) == 1)
    }
}

@Suite struct `Listening` {
    @Test(arguments: ["127.0.0.1", "::1"])
    func `accepts on a port from the kernel`(address: String) throws {
        let socket = try ListenSocket.bind(address: address, port: 0)
        defer { socket.close() }
        #expect(socket.port > 0)
        let loop = try EventLoop()
        var accepted: [RecordingStream] = []
        let listener = try Listener(
            on: loop, socket, makeStream: { RecordingStream(on: loop) },
            onAccept: {
                accepted.append($0 as! RecordingStream)
                $0.startReading()
            })
        let client = RecordingStream(on: loop)
        try client.open(descriptor: connected(to: socket))
        client.gatherAndSend("ping")
        while accepted.first?.received.count != 4 { loop.runOnce() }
        #expect(accepted[0].received == Array("ping".utf8))
        accepted[0].close()
        client.close()
        listener.close()
        loop.run()
    }

    @Test func `refuses a port that is in use instead of taking another`() throws {
        let socket = try ListenSocket.bind(address: "127.0.0.1", port: 0)
        defer { socket.close() }
        #expect(throws: ReactorError.addressInUse) {
            try ListenSocket.bind(address: "127.0.0.1", port: socket.port)
        }
    }

    @Test func `turns connections away that its owner does not want`() throws {
        let socket = try ListenSocket.bind(address: "127.0.0.1", port: 0)
        defer { socket.close() }
        let loop = try EventLoop()
        let listener = try Listener(on: loop, socket, makeStream: { nil }, onAccept: { _ in })
        let client = RecordingStream(on: loop)
        try client.open(descriptor: connected(to: socket))
        client.startReading()
        while client.events.isEmpty { loop.runOnce() }
        #expect(client.events == ["end"])
        client.close()
        listener.close()
        loop.run()
    }

    private func connected(to listener: ListenSocket) throws -> Int32 {
        let isV6 = listener.address.contains(":")
        let descriptor = socket(isV6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var result: Int32 = -1
        if isV6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = listener.port.bigEndian
            inet_pton(AF_INET6, listener.address, &address.sin6_addr)
            result = withUnsafeBytes(of: &address) {
                connect(
                    descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self),
                    socklen_t($0.count))
            }
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = listener.port.bigEndian
            inet_pton(AF_INET, listener.address, &address.sin_addr)
            result = withUnsafeBytes(of: &address) {
                connect(
                    descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self),
                    socklen_t($0.count))
            }
        }
        #expect(result == 0)
        return descriptor
    }
}

extension ByteStream {
    fileprivate func gatherAndSend(_ text: StaticString) {
        gather(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        send()
    }
}
