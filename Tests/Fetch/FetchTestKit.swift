// What the tests of this room share: a driver with a fetcher, and ports on which nobody answers.

import Bytes
import Fetch
import Support
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension CurlFetcher {
    /// With a driver of its own.
    init(proxy: ForwardProxy = .none, caFile: String? = nil) {
        self.init(driver: CurlDriver(), proxy: proxy, caFile: caFile)
    }

    /// What `fetch` throws; nil when it succeeds.
    func failure(of request: OutboundRequest) async -> FetchError? {
        do throws(FetchError) {
            _ = try await fetch(request)
            return nil
        } catch {
            return error
        }
    }
}

extension OutboundRequest {
    static func get(_ url: String, timeoutMilliseconds: UInt64 = 20_000) -> OutboundRequest {
        OutboundRequest(.get, url, timeoutMilliseconds: timeoutMilliseconds)
    }
}

extension SecretBytes {
    var octets: Octets { withBytes { Octets($0) } }
}

extension ForwardProxy {
    /// One for every origin that is not this machine.
    static func everything(through url: String) throws -> ForwardProxy {
        try ForwardProxy(url: url, setting: "test")
    }
}

/// A port whose connections the kernel neither accepts nor refuses: its queue is full.
final class SilentPort {
    let port: UInt16
    private var descriptors: [Int32] = []

    /// - Parameter host: the last number of an address 127.0.0.x.
    init(host: UInt8 = 1, port wanted: UInt16 = 0) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = (UInt32(0x7F00_0000) | UInt32(host)).bigEndian
        address.sin_port = wanted.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let listener = socket(AF_INET, kind, 0)
        descriptors.append(listener)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = bind(listener, pointer, length)
                _ = getsockname(listener, pointer, &length)
            }
        }
        listen(listener, 0)
        port = UInt16(bigEndian: address.sin_port)
        // The queue takes backlog + 1; what comes beyond waits for its SYN to be answered.
        for _ in 0..<8 {
            let client = socket(AF_INET, kind | Int32(SOCK_NONBLOCK.rawValue), 0)
            descriptors.append(client)
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    _ = connect(client, pointer, length)
                }
            }
        }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }
}

/// A port of loopback on which nobody listens any more.
func refusingPort() throws -> UInt16 {
    let upstream = try FakeUpstream { _ in }
    upstream.stop()
    return upstream.port
}

/// Runs what blocks on a thread of its own, so that the test's own pool stays free.
func elsewhere<Answer: Sendable>(
    _ body: @escaping @Sendable () throws -> Answer
) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
        OwnThread.start { continuation.resume(with: Result { try body() }) }
    }
}
