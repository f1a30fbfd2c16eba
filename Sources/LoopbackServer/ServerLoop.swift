// The server's one thread: it accepts, reads, writes and watches the clock. It never waits for a
// handler nor for one client, so none of them can hold up another.

import Bytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Confined to its thread from `start` on.
final class ServerLoop {
    private var sockets: LoopbackSockets
    private let mail: ServerMail
    private let hosts: [String]?
    private let headGuard: HeadGuard?
    private let admits: (@Sendable (Int32) -> Bool)?
    private let limits: ServerLimits
    private let onEvent: @Sendable (ServerEvent) -> Void
    private let handler: ServerHandler
    private var connections: [UInt64: ServerConnection] = [:]
    private var lastConnection: UInt64 = 0
    private var drainsUntil: UInt64?
    private var acceptsFrom: UInt64 = 0
    private var scratch = [UInt8](repeating: 0, count: 16_384)

    /// How long accepting pauses when the process has no descriptor left.
    private static let acceptPauseMilliseconds: UInt64 = 100

    init(
        sockets: LoopbackSockets, mail: ServerMail, hosts: AcceptedHosts, limits: ServerLimits,
        headGuard: HeadGuard? = nil, admits: (@Sendable (Int32) -> Bool)? = nil,
        onEvent: @escaping @Sendable (ServerEvent) -> Void, handler: @escaping ServerHandler
    ) {
        self.sockets = sockets
        self.mail = mail
        self.limits = limits
        self.headGuard = headGuard
        self.admits = admits
        self.onEvent = onEvent
        self.handler = handler
        let names = ["localhost", "127.0.0.1", "[::1]"]
        let port = sockets.port
        self.hosts =
            switch hosts {
            case .any: nil
            case .loopback: names.map { "\($0):\(port)" } + (port == 80 ? names : [])
            }
    }

    /// Runs the loop on a thread of its own; false when there can be none.
    func start() -> Bool {
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t?
        #endif
        // SAFETY: the thread takes the reference over and is the only one to use the loop.
        let own = Unmanaged.passRetained(self)
        let code = pthread_create(&thread, nil, serverThread, own.toOpaque())
        guard code == 0 else {
            own.release()
            return false
        }
        #if canImport(Glibc)
            pthread_detach(thread)
        #else
            pthread_detach(thread!)
        #endif
        return true
    }

    fileprivate func run() {
        mail.markBegun()
        var polled: [pollfd] = []
        var keys: [UInt64] = []
        while isToGoOn() {
            closeOverdue(bootMilliseconds())
            fill(&polled, &keys)
            let count = poll(&polled, nfds_t(polled.count), timeout())
            // An interrupted or failed poll tells nothing; the next turn asks again.
            guard count > 0 else { continue }
            serve(polled, keys)
        }
        for (key, connection) in connections { close(key, connection) }
        sockets.close()
        mail.markEnded()
    }

    /// Takes the mail: delivers answers, obeys orders.
    private func isToGoOn() -> Bool {
        let content = mail.take()
        for (key, answer) in content.answers {
            guard let connection = connections[key] else { continue }
            switch answer {
            case .response(let response): self.answer(key, connection, response)
            case .piece(let piece): goOn(key, connection, with: piece)
            }
            pump(key, connection)
        }
        switch content.order {
        case .run: return true
        case .stop: return false
        case .drain(let deadline):
            if drainsUntil == nil { sockets.close() }
            drainsUntil = deadline
            for (key, connection) in connections where connection.isReading {
                close(key, connection)
            }
            return !connections.isEmpty && bootMilliseconds() < deadline
        }
    }

    private func closeOverdue(_ now: UInt64) {
        for (key, connection) in connections where connection.deadline <= now {
            if connection.isReading && !connection.reader.isIdle {
                connection.rules = .refusal
                refuse(key, connection, status: 408)
            } else {
                close(key, connection)
            }
        }
    }

    private func timeout() -> Int32 {
        let now = bootMilliseconds()
        var next = connections.values.lazy.map(\.deadline).min() ?? .max
        if let drainsUntil { next = min(next, drainsUntil) }
        if acceptsFrom > now { next = min(next, acceptsFrom) }
        guard next < .max else { return -1 }
        return next <= now ? 0 : Int32(clamping: next - now)
    }

    /// The wake pipe first, then the listening sockets, then the connections named in `keys`.
    private func fill(_ polled: inout [pollfd], _ keys: inout [UInt64]) {
        polled.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        polled.append(pollfd(fd: mail.wakeDescriptor, events: Int16(POLLIN), revents: 0))
        let accepts = acceptsFrom <= bootMilliseconds()
        for descriptor in sockets.descriptors {
            polled.append(
                pollfd(fd: descriptor, events: accepts ? Int16(POLLIN) : 0, revents: 0))
        }
        for (key, connection) in connections {
            let events: Int32 =
                switch connection.state {
                case .reading, .lingering: Int32(POLLIN)
                case .answering: 0
                case .writing: Int32(POLLOUT)
                }
            polled.append(
                pollfd(fd: connection.descriptor, events: Int16(events), revents: 0))
            keys.append(key)
        }
    }

    private func serve(_ polled: [pollfd], _ keys: [UInt64]) {
        let first = polled.count - keys.count
        for (index, key) in keys.enumerated() {
            let happened = Int32(polled[first + index].revents)
            guard happened != 0, let connection = connections[key] else { continue }
            switch connection.state {
            case .reading, .lingering: receive(key, connection)
            case .writing:
                flush(key, connection)
                pump(key, connection)
            // Nothing was asked for, so the connection broke.
            case .answering: close(key, connection)
            }
        }
        for entry in polled[1..<first] where entry.revents & Int16(POLLIN) != 0 {
            acceptAll(entry.fd)
        }
    }

    private func acceptAll(_ listener: Int32) {
        while true {
            var peer = SocketAddress()
            let descriptor = acceptConnection(listener, &peer)
            let now = bootMilliseconds()
            guard descriptor >= 0 else {
                // A client that left again, or a signal, is no reason to stop.
                if errno == ECONNABORTED || errno == EINTR { continue }
                if errno != EAGAIN {
                    makeRoom()
                    acceptsFrom = now + Self.acceptPauseMilliseconds
                }
                return
            }
            if !(admits?(descriptor) ?? true)
                || connections.count >= limits.connectionsMax && !makeRoom()
            {
                closeDescriptor(descriptor)
                continue
            }
            lastConnection += 1
            connections[lastConnection] = ServerConnection(
                descriptor: descriptor, peerPort: peer.port, limits: limits, headGuard: headGuard,
                now: now)
        }
    }

    /// Closes the connection that has kept still for the longest; false when all wait for handlers.
    @discardableResult
    private func makeRoom() -> Bool {
        let candidates = connections.filter { $0.value.canMakeRoom }
        guard let oldest = candidates.min(by: { $0.value.lastHeard < $1.value.lastHeard }) else {
            return false
        }
        close(oldest.key, oldest.value)
        return true
    }

    private func receive(_ key: UInt64, _ connection: ServerConnection) {
        let count = scratch.withUnsafeMutableBytes {
            recv(connection.descriptor, $0.baseAddress, $0.count, 0)
        }
        guard count > 0 else {
            if count == 0 || (errno != EAGAIN && errno != EINTR) { close(key, connection) }
            return
        }
        guard connection.isReading else { return }
        connection.lastHeard = bootMilliseconds()
        scratch.withUnsafeBytes {
            connection.reader.append(UnsafeRawBufferPointer(rebasing: $0[..<count]))
        }
        pump(key, connection)
    }

    /// Reads on while the connection has nothing better to do.
    private func pump(_ key: UInt64, _ connection: ServerConnection) {
        while connection.isReading && connections[key] != nil {
            switch connection.reader.next() {
            case .needMore:
                connection.keepReading(limits, now: bootMilliseconds())
                return
            case .continueWanted:
                let line: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"
                let bytes = UnsafeRawBufferPointer(
                    start: line.utf8Start, count: line.utf8CodeUnitCount)
                // A socket that cannot even take this much is not worth waiting for.
                guard sendBytes(connection.descriptor, bytes) == bytes.count else {
                    return close(key, connection)
                }
            case .request(let request, let rules):
                connection.rules = rules
                guard isWelcome(request) else {
                    refuse(key, connection, status: 400)
                    continue
                }
                start(key, connection, request)
            case .turnedAway(var response, let rules):
                connection.rules = rules
                onEvent(.refused(status: response.status, peerPort: connection.peerPort))
                response.closesConnection = true
                answer(key, connection, response)
            case .refused(let status):
                connection.rules = .refusal
                refuse(key, connection, status: status)
            case .tlsHandshake:
                onEvent(.tlsHandshake(peerPort: connection.peerPort))
                return close(key, connection)
            }
        }
    }

    /// Only HTTP/1.0 goes without Host, and no browser speaks it.
    private func isWelcome(_ request: ServerRequest) -> Bool {
        guard let hosts, let host = request.field("Host") else { return true }
        return hosts.contains(host.lowercased())
    }

    private func start(_ key: UInt64, _ connection: ServerConnection, _ request: ServerRequest) {
        connection.deadline = .max
        connection.state = .answering(
            Task { [handler, mail] in
                mail.post(.response(await handler(request)), to: key)
            })
    }

    private func refuse(_ key: UInt64, _ connection: ServerConnection, status: Int) {
        onEvent(.refused(status: status, peerPort: connection.peerPort))
        var response = ServerResponse(status: status, text: "the request was refused\n")
        response.closesConnection = true
        answer(key, connection, response)
    }

    private func answer(
        _ key: UInt64, _ connection: ServerConnection, _ response: ServerResponse
    ) {
        if drainsUntil != nil { connection.rules.persists = false }
        let goesOn = AnswerWriter.append(response, connection.rules, into: &connection.output)
        let hasRest = !connection.rules.isHead && response.status != 204 && response.status != 304
        connection.rest = hasRest ? response.rest : nil
        write(key, connection, goesOn: goesOn)
    }

    /// Sends the next piece of an open body.
    private func goOn(_ key: UInt64, _ connection: ServerConnection, with piece: [UInt8]?) {
        AnswerWriter.append(piece: piece, connection.rules, into: &connection.output)
        if piece == nil { connection.rest = nil }
        write(key, connection, goesOn: connection.rules.persists)
    }

    private func write(_ key: UInt64, _ connection: ServerConnection, goesOn: Bool) {
        connection.rules.persists = goesOn
        connection.state = .writing(goesOn: goesOn)
        connection.deadline = bootMilliseconds() + limits.writeMilliseconds
        flush(key, connection)
    }

    private func flush(_ key: UInt64, _ connection: ServerConnection) {
        guard case .writing(let goesOn) = connection.state else { return }
        while !connection.output.isEmpty {
            let count = sendBytes(connection.descriptor, connection.output.bytes)
            guard count > 0 else {
                if errno == EINTR { continue }
                if errno != EAGAIN { close(key, connection) }
                return
            }
            connection.output.consume(count)
            connection.lastHeard = bootMilliseconds()
            connection.deadline = connection.lastHeard + limits.writeMilliseconds
        }
        if let rest = connection.rest {
            connection.deadline = .max
            connection.state = .answering(
                Task { [mail] in mail.post(.piece(await rest()), to: key) })
            return
        }
        let now = bootMilliseconds()
        if goesOn {
            connection.startReading(limits, now: now)
        } else {
            connection.state = .lingering
            connection.deadline = now + limits.lingerMilliseconds
            shutDownWriting(connection.descriptor)
        }
    }

    private func close(_ key: UInt64, _ connection: ServerConnection) {
        if case .answering(let task) = connection.state { task.cancel() }
        closeConnection(connection.descriptor)
        connections[key] = nil
    }
}

#if canImport(Glibc)
    private func serverThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        runLoop(argument!)
        return nil
    }
#else
    private func serverThread(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        runLoop(argument)
        return nil
    }
#endif

private func runLoop(_ argument: UnsafeMutableRawPointer) {
    // SAFETY: the one reference that `start` gave to this thread.
    Unmanaged<ServerLoop>.fromOpaque(argument).takeRetainedValue().run()
}
