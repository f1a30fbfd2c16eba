// Where a connection is to lead, as the configuration says it.

/// An origin, and what is known of its address.
package struct DialTarget: Hashable, Sendable {
    package let origin: Origin
    /// An address literal to connect to in place of what the name resolves to; IPv6 without brackets.
    package let address: String?
    /// Whether a public name may lead into a private network or to this machine.
    package let allowsPrivateAddresses: Bool

    package init(_ origin: Origin, address: String? = nil, allowsPrivateAddresses: Bool = false) {
        self.origin = origin
        self.address = address
        self.allowsPrivateAddresses = allowsPrivateAddresses
    }
}
