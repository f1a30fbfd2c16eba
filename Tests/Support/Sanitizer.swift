// Whether a sanitizer watches the program under test (Tests/Sanitizers/run says so). It keeps memory of its own
// and what was freed lately, so that a process's size says nothing; what leaks it reports itself.

import Glibc

package enum Sanitizer {
    /// `address` or `thread`.
    package static let kind = getenv("SANITIZER").map { String(cString: $0) }

    package static var isOn: Bool { kind != nil }
}
