// A private key of a test's own as files hold it, and the public half that a server knows.

import Bytes
package import Crypto

package struct TestKey: Sendable {
    /// PKCS#8 in PEM.
    package let pem: String
    package let publicKey: VerificationKey

    package init(_ algorithm: JWSAlgorithm = .es256) {
        let key = SigningKey.generate(algorithm)
        let text = key.stored.withBytes { Base64.encode($0, .standard) }
        var lines: [Substring] = []
        var rest = Substring(text)
        while !rest.isEmpty {
            lines.append(rest.prefix(64))
            rest = rest.dropFirst(64)
        }
        // In two parts, so that nobody takes this file for a leaked key.
        let (begin, end) = ("-----BEGIN", "-----END")
        pem = (["\(begin) PRIVATE KEY-----"] + lines + ["\(end) PRIVATE KEY-----\n"])
            .joined(separator: "\n")
        publicKey = key.verificationKey
    }
}
