// A server that nobody here wrote, run by its script in Servers/: started with a directory and ports of its
// own, and stopped when nobody holds it any more. What the server is, only the script knows.

import Glibc
import Support
import Testing

/// Ready when `init` returns.
final class ServerScript: Sendable {
    /// What the script said once the server could be used.
    let announced: String
    let port: UInt16
    private let name: String
    private let directory: TemporaryDirectory
    private let child: ChildProcess

    /// Runs `Servers/NAME.sh DIRECTORY PORT ARGUMENTS…`.
    init(_ name: String, _ arguments: [String]) throws {
        self.name = name
        directory = try TemporaryDirectory()
        port = try Ports.free()
        child = try ChildProcess(
            [Self.path("Servers/\(name).sh"), directory.path, "\(port)"] + arguments,
            environment: Self.environment, directory: directory.path)
        let child = child
        do {
            // The first time installs packages.
            announced = try waited(for: "\(name) to start", within: .seconds(300)) {
                for line in child.printed(.output).text.components(separatedBy: "\n")
                where line.hasPrefix("ready ") {
                    return String(line.dropFirst(6))
                }
                guard child.isRunning else { throw Failure.ended("with the server's script") }
                return nil
            }
        } catch {
            throw NotReady(reason: error, printed: child.printed(.error).text)
        }
    }

    deinit {
        child.kill(SIGTERM)
        _ = try? child.waitForEnd(within: .seconds(10))
        child.kill(SIGKILL, wholeGroup: true)
    }

    struct NotReady: Error, CustomStringConvertible {
        let reason: any Error
        let printed: String
        var description: String { "\(reason); it printed:\n\(printed)" }
    }

    /// A file that the script left, such as a client's key.
    func file(_ name: String) throws -> Octets {
        try #require(try Files.read(directory.path(name)), "\(self.name) left no \(name)")
    }

    /// Of a file beside this one.
    static func path(_ name: String) -> String {
        #filePath.components(separatedBy: "/").dropLast().joined(separator: "/") + "/" + name
    }

    /// What the scripts need of the runner's environment: the package managers' settings too.
    static let environment: [String: String] = {
        var environment: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1)
            if parts.count == 2 { environment[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        // Kept, so that only the first run installs.
        let repository = #filePath.components(separatedBy: "/").dropLast(3).joined(separator: "/")
        environment["PROVIDERS_CACHE"] = repository + "/.build/providers"
        return environment
    }()
}

/// TCP ports of loopback that nobody listens on now.
enum Ports {
    static func free() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.system("socket", errno) }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) | getsockname(descriptor, pointer, &length)
            }
        }
        guard code == 0 else { throw Failure.system("bind", errno) }
        return UInt16(bigEndian: address.sin_port)
    }
}
