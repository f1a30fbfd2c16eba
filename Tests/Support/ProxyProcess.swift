// A running `proxy serve`.

import Glibc

/// Ready when `init` returns.
package final class ProxyProcess: Sendable {
    package let child: ChildProcess
    /// Where it listens on 127.0.0.1.
    package let port: UInt16

    /// Waits for the line that announces the listener.
    package init(_ child: ChildProcess, within limit: Duration = .seconds(20)) throws {
        self.child = child
        do {
            port = try waited(for: "the proxy to listen", within: limit) {
                if let port = Self.announcedPort(in: child.printed(.error).text) { return port }
                // Ended before it listened: the reason is what it printed.
                guard child.isRunning else { throw Failure.ended("with the proxy's end") }
                return nil
            }
        } catch {
            throw NotReady(reason: error, printed: child.printed(.error).text)
        }
    }

    /// The proxy did not come up.
    package struct NotReady: Error, CustomStringConvertible {
        package let reason: any Error
        package let printed: String
        package var description: String { "\(reason); it printed:\n\(printed)" }
    }

    private static func announcedPort(in text: String) -> UInt16? {
        for line in text.components(separatedBy: "\n") where line.contains("listening") {
            let parts = line.components(separatedBy: "127.0.0.1:")
            guard parts.count > 1 else { continue }
            let digits = parts[1].unicodeScalars.prefix { (48...57).contains($0.value) }
            if let port = UInt16(String(digits)) { return port }
        }
        return nil
    }

    package var url: String { "http://127.0.0.1:\(port)" }

    /// What it logged so far.
    package var log: String { child.printed(.error).text }

    /// A new connection to it.
    package func connect(receiveBufferBytes: Int32? = nil) throws -> RawClient {
        try RawClient(to: port, receiveBufferBytes: receiveBufferBytes)
    }

    /// One request over a connection of its own.
    package func exchange(
        _ method: String = "GET", _ target: String = "/", fields: [(String, String)] = [],
        body: Octets? = nil, within limit: Duration = SocketStream.patience
    ) throws -> HTTPMessage {
        try connect().exchange(method, target, fields: fields, body: body, within: limit)
    }

    /// Sends bytes over a connection of its own and returns whatever comes until it is closed.
    package func answer(toRaw octets: Octets, within limit: Duration = SocketStream.patience) throws
        -> Octets
    {
        let client = try connect()
        do {
            try client.send(octets)
        } catch Failure.reset {
            // It may refuse before everything was sent.
        }
        return try client.stream.readToEnd(within: limit)
    }

    /// Waits for a line of the log.
    package func waitForLog(_ text: String, within limit: Duration = .seconds(20)) throws {
        try waited(for: "the log to say \(text.debugDescription)", within: limit) {
            log.contains(text) ? () : nil
        }
    }

    /// Asks it to stop and waits for it.
    @discardableResult
    package func stop(within limit: Duration = .seconds(40)) throws -> ChildProcess.Ending {
        child.kill(SIGTERM)
        return try child.waitForEnd(within: limit)
    }

    /// Ends it without giving it a chance to notice.
    package func killNow() throws {
        child.kill(SIGKILL)
        _ = try child.waitForEnd()
    }
}
