// TLS over a connected descriptor, either side, for fakes and clients. The handshake happens with the first
// byte read or written.

import Bytes
import Crypto
import Glibc

final class TLSTransport: Transport {
    private let plain: PlainTransport
    private var connection: TLSConnection

    var descriptor: Int32 { plain.descriptor }

    init(_ descriptor: Int32, server context: TLSContext) {
        plain = PlainTransport(descriptor)
        connection = TLSConnection(server: context)
    }

    init(_ descriptor: Int32, client context: TLSContext, host: String) throws {
        plain = PlainTransport(descriptor)
        connection = try TLSConnection(client: context, host: host)
    }

    func receive(_ target: UnsafeMutableRawBufferPointer, until deadline: Deadline) throws -> Int {
        while true {
            let progress = connection.read(into: target)
            try flush(until: deadline)
            switch progress {
            case .ready(let count): return count
            case .wantRead: try feed(until: deadline)
            case .wantWrite: continue
            case .closed: return 0
            case .failed(let error): throw error
            }
        }
    }

    func send(_ source: UnsafeRawBufferPointer, until deadline: Deadline) throws {
        var rest = source
        while !rest.isEmpty {
            let progress = connection.write(rest)
            try flush(until: deadline)
            switch progress {
            case .ready(let count): rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            case .wantRead: try feed(until: deadline)
            case .wantWrite: continue
            case .closed: throw Failure.reset
            case .failed(let error): throw error
            }
        }
    }

    /// close_notify; the descriptor itself stays open both ways.
    func endSending(until deadline: Deadline) throws {
        connection.shutdown()
        try flush(until: deadline)
    }

    private func flush(until deadline: Deadline) throws {
        let pending = connection.pendingCiphertext
        guard !pending.isEmpty else { return }
        try plain.send(pending, until: deadline)
        connection.consumeCiphertext(pending.count)
    }

    private func feed(until deadline: Deadline) throws {
        try withUnsafeTemporaryAllocation(byteCount: 1 << 15, alignment: 1) { block in
            let count = try plain.receive(block, until: deadline)
            if count == 0 {
                connection.feedEnd()
            } else {
                connection.feed(UnsafeRawBufferPointer(rebasing: block[..<count]))
            }
        }
    }
}
