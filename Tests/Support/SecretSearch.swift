// The search for secrets where none may be: in what processes print, and in the arguments and
// environments of everything that runs.

import Crypto
import Synchronization

/// Finds secrets as they are, and in the encodings in which logs like to hide them.
package struct SecretSearch: Sendable {
    private let needles: [(secret: String, form: Octets)]

    package init(_ secrets: some Sequence<String>) {
        needles = secrets.filter { $0.utf8.count >= 8 }.flatMap { secret -> [(String, Octets)] in
            let bytes = Array(secret.utf8)
            // The first 12 letters give a secret away too.
            let beginning = Octets(bytes.prefix(max(12, bytes.count / 2)))
            // Base64 of the middle third is the same wherever the secret starts in a group.
            let encoded = (0..<3).map { offset -> Octets in
                let text = Base64.encode(
                    [UInt8](repeating: 0x20, count: offset) + bytes, .standard)
                return Octets(text.utf8.dropFirst(4).dropLast(4))
            }
            let hexadecimal = Octets(bytes.map { String($0, radix: 16) }.joined().utf8)
            return [(secret, beginning), (secret, hexadecimal)] + encoded.map { (secret, $0) }
        }
    }

    /// The secrets that occur in the text.
    package func found(in text: Octets) -> Set<String> {
        Set(needles.filter { text.contains($0.form) }.map(\.secret))
    }
}

/// Looks at the arguments and the environment of a process and its descendants, again and again.
package final class ProcessWatch: Sendable {
    private let shared = Shared()

    /// Watches until it is dropped.
    package init(_ child: ChildProcess) {
        let shared = shared
        OwnThread.start { [weak child] in
            while let family = child?.family, !shared.state.withLock({ $0.isOver }) {
                for process in family { shared.note(process) }
                pause(.milliseconds(5))
            }
        }
    }

    deinit { shared.state.withLock { $0.isOver = true } }

    /// All arguments and environments so far.
    package var seen: Octets { shared.state.withLock { $0.seen } }

    /// How many different command lines were seen.
    package var commandCount: Int { shared.state.withLock { $0.names.count } }
}

private final class Shared: Sendable {
    struct State {
        var seen = Octets("")
        var names: Set<Octets> = []
        var isOver = false
    }

    let state = Mutex(State())

    func note(_ process: Int32) {
        for file in ["cmdline", "environ"] {
            guard let content = try? Files.read("/proc/\(process)/\(file)"), !content.isEmpty
            else { continue }
            state.withLock { state in
                let isNew = state.names.insert(content).inserted
                if isNew { state.seen += content + "\n" }
            }
        }
    }
}
