// Which fields of a message no compression table on its way may keep, since their sender says so
// (RFC 7541 section 6.2.3).

import Bytes
package import HTTPWire

/// Fields that are marked as never indexed. Empty for most messages; names that are not known share one mark, which
/// then keeps more of them out than need be.
package struct NeverIndexed: Hashable, Sendable {
    package var known: KnownFieldSet = []
    /// Every field that has no number.
    package var others = false
    /// `:path`.
    package var path = false

    package init() {}

    package func contains(_ field: KnownField) -> Bool {
        field == .other ? others : known.contains(field)
    }

    mutating func insert(_ name: UnsafeRawBufferPointer) {
        switch KnownField.named(name) {
        case .other where name.first == ASCII.colon:
            if ASCII.isEqual(name, ":path") { path = true }
        case .other: others = true
        case let field: known.insert(field)
        }
    }

    mutating func formUnion(_ other: NeverIndexed) {
        known = known.union(other.known)
        others = others || other.others
        path = path || other.path
    }
}
