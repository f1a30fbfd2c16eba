// Why a key is not used. No case holds a byte of it.

package enum KeyError: Error, Hashable, Sendable {
    /// Neither PEM nor DER with a private key in it.
    case unreadable
    case passphraseNeeded
    case wrongPassphrase
    /// A key that no algorithm here can use: another curve, DSA, X25519, …
    case unsupportedKind(String)
    case tooSmall(bits: Int, bitsMin: Int)
    case tooLarge(bits: Int, bitsMax: Int)
    /// A member of a JWK that is absent.
    case missing(member: String)
    /// A member of a JWK that is no base64url, of the wrong length, or no point of its curve.
    case invalid(member: String)
}

extension KeyError {
    /// One line for a person, without a full stop.
    package var reason: String {
        switch self {
        case .unreadable: "it is no private key in PEM"
        case .passphraseNeeded: "the key is encrypted and no passphrase is given"
        case .wrongPassphrase: "the passphrase does not fit the key"
        case .unsupportedKind(let kind):
            "a key of kind \"\(kind)\" signs nothing here (RSA, P-256, P-384, P-521 and Ed25519 do)"
        case .tooSmall(let bits, let bitsMin):
            "the key has \(bits) bits, at least \(bitsMin) are needed"
        case .tooLarge(let bits, let bitsMax):
            "the key has \(bits) bits, at most \(bitsMax) are possible"
        case .missing(let member): "the key has no \"\(member)\""
        case .invalid(let member): "the key's \"\(member)\" is invalid"
        }
    }
}
