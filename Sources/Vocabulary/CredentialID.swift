// How a credential is named: by people, by workers, and by its age.

/// The name that the configuration gives a credential: `[a-z0-9][a-z0-9_-]*`, at most 64 letters, so
/// that it can be a file's name.
package struct CredentialID: Hashable, Sendable {
    package let name: String

    /// Nil when the name could not serve as a file's name.
    package init?(_ name: String) {
        let isWhole = name.utf8.allSatisfy { byte in
            byte &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x5F || byte == 0x2D
        }
        guard isWhole, (1...64).contains(name.utf8.count), let first = name.utf8.first,
            first != 0x5F, first != 0x2D
        else { return nil }
        self.name = name
    }
}

extension CredentialID: CustomStringConvertible {
    package var description: String { name }
}

/// A credential's place in the tables of a worker; the assembly numbers them once per configuration.
@usableFromInline
@frozen
package struct CredentialSlot: Hashable, Sendable {
    @usableFromInline package let index: Int

    @inlinable
    package init(_ index: Int) { self.index = index }
}

/// How often a credential has been replaced. A rejected request names the generation that it used, so
/// joining a running refresh and skipping a needless one need no further rule.
@usableFromInline
@frozen
package struct Generation: Hashable, Comparable, Sendable {
    @usableFromInline package var count: UInt64

    @inlinable
    package init(_ count: UInt64) { self.count = count }

    /// Older than every credential.
    package static let none = Generation(0)

    @inlinable
    package static func < (left: Generation, right: Generation) -> Bool {
        left.count < right.count
    }

    package var next: Generation { Generation(count + 1) }
}
