// One connected socket for blocking code: bytes in and out with deadlines, and the rude endings that
// real peers produce. It knows nothing of HTTP; see SocketStream+HTTP.

import Glibc
import Synchronization

/// Used by one thread at a time.
package final class SocketStream {
    /// How long a call waits when the caller names no limit.
    package static let patience = Duration.seconds(20)

    private let transport: any Transport
    private let registration: SocketRegistry.Entry
    /// What was received and not yet taken lies between `start` and `end`.
    private var storage = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)
    private var start = 0
    private var end = 0
    private let onReceive: ((UnsafeRawBufferPointer) -> Void)?

    /// Takes the transport's descriptor over and makes it non-blocking.
    init(
        _ transport: any Transport, in registry: SocketRegistry = SocketRegistry(),
        onReceive: ((UnsafeRawBufferPointer) -> Void)? = nil
    ) {
        self.transport = transport
        self.onReceive = onReceive
        let descriptor = transport.descriptor
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        registration = registry.add(descriptor)
    }

    deinit {
        close()
        storage.deallocate()
    }

    private var descriptor: Int32 { transport.descriptor }

    // MARK: Reading

    /// What was received and not yet taken.
    package var heldCount: Int { end - start }

    private var held: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: storage[start..<end])
    }

    /// Waits for more bytes; false at the end of the stream.
    package func fill(within limit: Duration = patience) throws -> Bool {
        makeRoom()
        let target = UnsafeMutableRawBufferPointer(rebasing: storage[end...])
        let count = try transport.receive(target, until: .after(limit))
        onReceive?(UnsafeRawBufferPointer(rebasing: target[..<count]))
        end += count
        return count > 0
    }

    /// Moves what is held to the front, and into twice the storage when it fills most of it.
    private func makeRoom() {
        let count = heldCount
        if count > storage.count / 2 {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: storage.count * 2, alignment: 16)
            larger.copyMemory(from: held)
            storage.deallocate()
            storage = larger
        } else if count > 0 {
            memmove(storage.baseAddress!, storage.baseAddress! + start, count)
        }
        start = 0
        end = count
    }

    /// Takes bytes that are held.
    package func take(_ count: Int) -> Octets {
        precondition(count <= heldCount, "taking more than is held")
        defer { start += count }
        return Octets(copying: UnsafeRawBufferPointer(rebasing: storage[start..<(start + count)]))
    }

    /// Whatever comes next; nil at the end of the stream.
    package func readSome(within limit: Duration = patience) throws -> Octets? {
        if heldCount == 0, try !fill(within: limit) { return nil }
        return take(heldCount)
    }

    /// The next bytes, which stay to be read.
    package func peek(_ count: Int, within limit: Duration = patience) throws -> Octets {
        while heldCount < count {
            guard try fill(within: limit) else {
                throw Failure.ended("after \(heldCount) of \(count) bytes")
            }
        }
        return Octets(copying: UnsafeRawBufferPointer(rebasing: held[..<count]))
    }

    package func read(_ count: Int, within limit: Duration = patience) throws -> Octets {
        while heldCount < count {
            guard try fill(within: limit) else {
                throw Failure.ended("after \(heldCount) of \(count) bytes")
            }
        }
        return take(count)
    }

    /// Up to and with the delimiter.
    package func read(through delimiter: Octets, within limit: Duration = patience) throws -> Octets
    {
        var searched = 0
        while true {
            if let index = offset(of: delimiter, in: held, from: searched) {
                return take(index + delimiter.count)
            }
            searched = max(0, heldCount - delimiter.count)
            guard try fill(within: limit) else {
                throw Failure.ended("before \(delimiter.text.debugDescription)")
            }
        }
    }

    /// Everything up to the end of the stream. The limit holds for each read.
    package func readToEnd(within limit: Duration = patience) throws -> Octets {
        while try fill(within: limit) {}
        return take(heldCount)
    }

    /// Reads and drops that many bytes; quicker than `read` for large bodies.
    package func skip(_ count: Int, within limit: Duration = patience) throws {
        var rest = count
        while rest > 0 {
            if heldCount == 0, try !fill(within: limit) {
                throw Failure.ended("with \(rest) bytes to come")
            }
            let step = min(rest, heldCount)
            start += step
            rest -= step
        }
    }

    /// How the peer ends the connection; what it still sends is dropped.
    package func waitForEnd(within limit: Duration = patience) throws -> Ending {
        let deadline = Deadline.after(limit)
        do {
            while try fill(within: .milliseconds(Int(deadline.milliseconds))) {
                start = end
            }
            return .closed
        } catch Failure.reset {
            return .reset
        }
    }

    /// Waits for a reset without reading, so that nothing that waits can go on.
    package func waitForReset(within limit: Duration = patience) throws {
        try Support.wait(descriptor, for: 0, until: .after(limit), "a reset")
    }

    package enum Ending: Sendable { case closed, reset }

    /// Whether the connection stays open and nothing arrives for that long.
    package func isQuiet(for duration: Duration) throws -> Bool {
        guard heldCount == 0 else { return false }
        do {
            _ = try fill(within: duration)
            return false
        } catch Failure.deadline {
            return true
        } catch Failure.reset {
            return false
        }
    }

    // MARK: Writing and ending

    package func write(_ octets: Octets, within limit: Duration = patience) throws {
        try octets.bytes.withUnsafeBytes { try transport.send($0, until: .after(limit)) }
    }

    /// One write for each byte.
    package func writeByteByByte(_ octets: Octets, pausing gap: Duration = .zero) throws {
        for byte in octets.bytes {
            try write(Octets(CollectionOfOne(byte)))
            if gap > .zero { pause(gap) }
        }
    }

    /// The end of what we send; reading goes on.
    package func halfClose(within limit: Duration = patience) throws {
        try transport.endSending(until: .after(limit))
    }

    package func close() { registration.close() }

    /// Closes with a TCP reset (SO_LINGER of 0 seconds, socket(7)).
    package func reset() { registration.close(resetting: true) }
}

/// The open descriptors of a server, so that it can be stopped while its threads read from them.
package final class SocketRegistry: Sendable {
    private let descriptors = Mutex<Set<Int32>>([])

    package init() {}

    final class Entry: Sendable {
        private let registry: SocketRegistry
        private let descriptor: Int32
        private let isOpen = Mutex(true)

        init(_ registry: SocketRegistry, _ descriptor: Int32) {
            self.registry = registry
            self.descriptor = descriptor
        }

        func close(resetting: Bool = false) {
            isOpen.withLock { isOpen in
                guard isOpen else { return }
                isOpen = false
                registry.descriptors.withLock { _ = $0.remove(descriptor) }
                if resetting {
                    var value = linger(l_onoff: 1, l_linger: 0)
                    setsockopt(
                        descriptor, SOL_SOCKET, SO_LINGER, &value,
                        socklen_t(MemoryLayout<linger>.size))
                }
                Glibc.close(descriptor)
            }
        }
    }

    func add(_ descriptor: Int32) -> Entry {
        descriptors.withLock { _ = $0.insert(descriptor) }
        return Entry(self, descriptor)
    }

    /// Ends all connections; their owners notice at their next call and close them.
    func shutDownAll() {
        descriptors.withLock { descriptors in
            for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }
}
