// Listening sockets on 127.0.0.1 and ::1, and nowhere else: no argument leads to another address.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Why a server could not be started.
package enum ServerError: Error, Hashable, Sendable {
    /// Another process listens on the port that was asked for.
    case portInUse(UInt16)
    /// Neither address exists here, or a system call failed; `errno` says how.
    case cannotListen(code: Int32)
}

/// Which of the two loopback addresses.
package enum LoopbackFamilies: Hashable, Sendable {
    /// Both with one port. A machine without IPv6 gets 127.0.0.1 alone.
    case both
    case ipv4
    case ipv6
}

/// Bound and listening; not blocking, not inherited by children.
struct LoopbackSockets {
    var descriptors: [Int32] = []
    var addresses: [String] = []
    var port: UInt16 = 0

    private static let backlog: Int32 = 128
    /// How often a free port of one family turns out to be taken in the other.
    private static let attemptsMax = 32

    /// Shares of sockets that somebody else has bound: closing these leaves those open.
    init(sharing listening: [Int32]) throws(ServerError) {
        for descriptor in listening {
            let own = duplicateDescriptor(descriptor)
            guard own >= 0 else {
                let code = errno
                close()
                throw .cannotListen(code: code)
            }
            descriptors.append(own)
        }
    }

    /// Binds all that `families` names. A port of nil is one that is free in both.
    init(port pinned: UInt16?, families: LoopbackFamilies) throws(ServerError) {
        var lastCode: Int32 = 0
        for _ in 0..<(pinned == nil ? Self.attemptsMax : 1) {
            do throws(ServerError) {
                try bindAll(pinned ?? 0, families)
                return
            } catch {
                close()
                guard case .portInUse = error else { throw error }
                if let pinned { throw .portInUse(pinned) }
                lastCode = EADDRINUSE
            }
        }
        throw .cannotListen(code: lastCode)
    }

    mutating func close() {
        for descriptor in descriptors { closeDescriptor(descriptor) }
        descriptors = []
        addresses = []
    }

    private mutating func bindAll(
        _ port: UInt16, _ families: LoopbackFamilies
    ) throws(ServerError) {
        self.port = port
        var missing: Int32 = EAFNOSUPPORT
        for (isV6, address) in [(false, "127.0.0.1"), (true, "::1")]
        where families == .both || (families == .ipv6) == isV6 {
            switch Self.listen(isV6: isV6, port: self.port) {
            case .success((let descriptor, let actual)):
                descriptors.append(descriptor)
                addresses.append(address)
                self.port = actual
            case .failure(.portInUse(let port)): throw .portInUse(port)
            case .failure(.cannotListen(let code)):
                // The family does not exist here; the other may.
                guard code == EAFNOSUPPORT || code == EADDRNOTAVAIL || code == EPROTONOSUPPORT
                else { throw .cannotListen(code: code) }
                missing = code
            }
        }
        if descriptors.isEmpty { throw .cannotListen(code: missing) }
    }

    private static func listen(
        isV6: Bool, port: UInt16
    ) -> Result<(Int32, UInt16), ServerError> {
        let descriptor = openStreamSocket(isV6 ? AF_INET6 : AF_INET)
        guard descriptor >= 0 else { return .failure(.cannotListen(code: errno)) }
        func fail() -> Result<(Int32, UInt16), ServerError> {
            let code = errno
            closeDescriptor(descriptor)
            return .failure(code == EADDRINUSE ? .portInUse(port) : .cannotListen(code: code))
        }
        // Connections of an earlier run that linger in TIME_WAIT are no reason to fail.
        guard setOption(descriptor, SOL_SOCKET, SO_REUSEADDR) else { return fail() }
        if isV6 {
            guard setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY) else { return fail() }
        }
        var address = SocketAddress(loopbackV6: isV6, port: port)
        guard address.withPointer({ bind(descriptor, $0, $1) }) == 0,
            systemListen(descriptor, backlog) == 0,
            address.read({ getsockname(descriptor, $0, &$1) }) == 0
        else { return fail() }
        return .success((descriptor, address.port))
    }
}
