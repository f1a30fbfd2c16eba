// Message digests, one call each.

import COpenSSL

package enum Digest {
    /// SHA-256 (FIPS 180-4): 32 bytes.
    package static func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { target, count in
            guard
                EVP_Digest(
                    bytes.baseAddress, bytes.count, target.baseAddress, nil, EVP_sha256(), nil) == 1
            else { outOfMemory() }
            count = Int(SHA256_DIGEST_LENGTH)
        }
    }

    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { sha256($0) }
    }
}
