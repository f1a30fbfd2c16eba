// Message digests and message authentication codes, one call each.

package import Bytes
import COpenSSL

package enum Digest {
    /// FIPS 180-4.
    package enum Kind: Sendable {
        case sha256, sha384, sha512
    }

    /// SHA-256: 32 bytes.
    package static func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        make(.sha256, of: bytes)
    }

    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { sha256($0) }
    }

    /// 32, 48 or 64 bytes.
    package static func make(_ kind: Kind, of bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: kind.byteCount) { target, count in
            guard
                EVP_Digest(
                    bytes.baseAddress, bytes.count, target.baseAddress, nil, kind.method, nil) == 1
            else { outOfMemory() }
            count = kind.byteCount
        }
    }

    /// HMAC (RFC 2104) under a key of any length.
    package static func authenticate(
        _ bytes: UnsafeRawBufferPointer, _ kind: Kind, key: SecretBytes
    ) -> [UInt8] {
        key.withBytes { key in
            [UInt8](unsafeUninitializedCapacity: kind.byteCount) { target, count in
                // OpenSSL takes a null key for "the one before".
                let place = key.baseAddress ?? UnsafeRawPointer(target.baseAddress!)
                guard
                    HMAC(
                        kind.method, place, Int32(key.count),
                        bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count,
                        target.baseAddress, nil) != nil
                else { outOfMemory() }
                count = kind.byteCount
            }
        }
    }
}

extension Digest.Kind {
    var byteCount: Int {
        switch self {
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// What OpenSSL calls it; lives for ever.
    var method: OpaquePointer? {
        switch self {
        case .sha256: EVP_sha256()
        case .sha384: EVP_sha384()
        case .sha512: EVP_sha512()
        }
    }
}
