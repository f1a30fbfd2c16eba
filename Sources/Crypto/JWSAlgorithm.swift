// The signature algorithms that exist here (RFC 7518 section 3.1; RFC 8037 section 3.1), and what each
// asks of a key. "none" is not among them and cannot be spelled.

package enum JWSAlgorithm: String, CaseIterable, Sendable {
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case edDSA = "EdDSA"
    /// With a shared secret: for `client_secret_jwt` only, never for what a stranger signed.
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"
}

extension JWSAlgorithm {
    /// Whether verifying needs no secret.
    package var isAsymmetric: Bool {
        switch self {
        case .hs256, .hs384, .hs512: false
        case .es256, .es384, .es512, .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .edDSA: true
        }
    }

    /// The digest by which a token's `at_hash` and `c_hash` are made too (OpenID Connect Core section
    /// 3.1.3.6). EdDSA names none; implementations agree on the one inside Ed25519.
    package var digest: Digest.Kind {
        switch self {
        case .es256, .rs256, .ps256, .hs256: .sha256
        case .es384, .rs384, .ps384, .hs384: .sha384
        case .es512, .rs512, .ps512, .hs512, .edDSA: .sha512
        }
    }

    /// Whether a key of that kind can be used with it. ES algorithms name their curve.
    package func fits(_ kind: KeyKind) -> Bool {
        switch self {
        case .es256: kind == .ellipticCurve(.p256)
        case .es384: kind == .ellipticCurve(.p384)
        case .es512: kind == .ellipticCurve(.p521)
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: kind == .rsa
        case .edDSA: kind == .ed25519
        case .hs256, .hs384, .hs512: false
        }
    }
}

/// What a key is, in so far as it decides what it can sign.
package enum KeyKind: Hashable, Sendable {
    package enum Curve: String, CaseIterable, Sendable {
        case p256 = "P-256"
        case p384 = "P-384"
        case p521 = "P-521"
    }

    case rsa
    case ellipticCurve(Curve)
    case ed25519
}

extension KeyKind.Curve {
    /// The bytes of a coordinate, and of each half of a signature (RFC 7518 sections 3.4 and 6.2.1).
    var coordinateBytes: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        }
    }

    /// RFC 5480 section 2.1.1.1.
    var identifier: [UInt8] {
        switch self {
        case .p256: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        case .p384: [0x2B, 0x81, 0x04, 0x00, 0x22]
        case .p521: [0x2B, 0x81, 0x04, 0x00, 0x23]
        }
    }

    /// What OpenSSL calls it.
    var groupName: String {
        switch self {
        case .p256: "prime256v1"
        case .p384: "secp384r1"
        case .p521: "secp521r1"
        }
    }
}

extension KeyKind {
    /// What it can sign with, the one to take first.
    var algorithms: [JWSAlgorithm] {
        switch self {
        case .rsa: [.rs256, .ps256, .rs384, .ps384, .rs512, .ps512]
        case .ellipticCurve(.p256): [.es256]
        case .ellipticCurve(.p384): [.es384]
        case .ellipticCurve(.p521): [.es512]
        case .ed25519: [.edDSA]
        }
    }
}
