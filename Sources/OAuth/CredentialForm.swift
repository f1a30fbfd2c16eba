// The forms of a credential that are no plain token: a user and a password in one, and a value inside a
// URL. Everything stays in memory that is wiped.

package import Bytes
import Crypto

package enum CredentialForm {
    /// What follows `Basic ` (RFC 7617 section 2). The user holds no colon.
    package static func basic(user: String, secret: SecretBytes) -> SecretBytes {
        let start = Array("\(user):".utf8)
        let pair = secret.withBytes { secret in
            SecretBytes(count: start.count + secret.count) { target in
                target.copyBytes(from: start)
                UnsafeMutableRawBufferPointer(rebasing: target[start.count...])
                    .copyBytes(from: secret)
            }
        }
        return Base64.encode(pair, .standard)
    }

    /// A value inside a query, every byte that is not unreserved as `%XX` (RFC 3986 section 2.3).
    package static func percentEncoded(_ secret: SecretBytes) -> SecretBytes {
        secret.withBytes { bytes in
            let count = bytes.reduce(0) { $0 + (isUnreserved($1) ? 1 : 3) }
            return SecretBytes(count: count) { target in
                var index = 0
                for byte in bytes {
                    if isUnreserved(byte) {
                        target[index] = byte
                        index += 1
                    } else {
                        target[index] = ASCII.percent
                        target[index + 1] = digit(byte &>> 4)
                        target[index + 2] = digit(byte & 15)
                        index += 3
                    }
                }
            }
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39, ASCII.hyphen, ASCII.dot, 0x5F, 0x7E: true
        default: false
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? ASCII.zero + value : 0x41 + value - 10
    }
}
