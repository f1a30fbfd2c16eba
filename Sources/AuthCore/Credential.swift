// A credential as the rest of the program gets it: a token with its generation, or the reason why
// there is none.

package import Bytes
package import Crossing
import OAuth
package import Vocabulary

/// What a request may be sent with.
package struct Credential: Sendable {
    package let generation: Generation
    package let token: SecretBytes
    /// Not to be sent from then on; nil where nothing tells.
    package let usableUntil: BootTime?
    /// The key that it is bound to (RFC 9449), if any.
    let proofKey: SecretBytes?

    /// The field's line as a worker copies it.
    package func update(_ slot: CredentialSlot, _ injection: Injection) -> CredentialUpdate {
        CredentialUpdate(
            slot: slot, generation: generation, line: line(injection), usableUntil: usableUntil,
            binding: proofKey.map { key in
                .init(key: key, accessTokenHash: ProofKey.hash(of: token))
            })
    }

    /// `Authorization: Bearer …` with its CR LF; for a query parameter `name=value` without.
    package func line(_ injection: Injection) -> SecretBytes {
        let token: SecretBytes
        var parts = [Array("\(injection.field): \(injection.prefix)".utf8), [0x0D, 0x0A]]
        switch injection.form {
        case .token: token = self.token
        case .basic(let user): token = CredentialForm.basic(user: user, secret: self.token)
        case .query(let name):
            token = CredentialForm.percentEncoded(self.token)
            parts = [Array("\(name)=".utf8), []]
        }
        return token.withBytes { token in
            SecretBytes(count: parts[0].count + token.count + parts[1].count) { target in
                target.copyBytes(from: parts[0])
                UnsafeMutableRawBufferPointer(rebasing: target[parts[0].count...])
                    .copyBytes(from: token)
                UnsafeMutableRawBufferPointer(rebasing: target[(parts[0].count + token.count)...])
                    .copyBytes(from: parts[1])
            }
        }
    }

    /// Whether bytes can be a field's value, or the tail of one, without ending it (RFC 9110 section
    /// 5.5): visible ASCII, with spaces and tabs only inside.
    package static func isFieldValue(_ token: SecretBytes) -> Bool {
        token.withBytes { bytes in
            guard let first = bytes.first, let last = bytes.last else { return false }
            return first > 0x20 && last > 0x20
                && bytes.allSatisfy { (0x20..<0x7F).contains($0) || $0 == 0x09 }
        }
    }
}
