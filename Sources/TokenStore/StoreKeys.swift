// Where the keys of an encrypted store come from. They are read by whoever makes the store, each time
// that a process needs them first; the store itself opens no file but its own.

package import Bytes
package import Crypto

/// What logins are sealed with.
package enum StoreKey: Sendable {
    /// 32 random bytes.
    case key(SecretBytes)
    /// Something that a person can remember, made expensive to guess (RFC 7914).
    case passphrase(SecretBytes)
}

/// Why there is no key; a line without a byte of it.
package struct StoreKeyError: Error, Sendable {
    package let reason: String

    package init(reason: String) { self.reason = reason }
}

/// The keys of one store.
package struct StoreKeys: Sendable {
    package typealias Source = @Sendable () async throws(StoreKeyError) -> StoreKey

    /// What is written with; nil writes plain records.
    package var sealing: Source?
    /// What else may open what is there, so that a key can be replaced or given up.
    package var opening: Source?
    /// What deriving a key from a passphrase costs; written down with each record.
    package var cost: Scrypt.Cost

    package init(
        sealing: Source? = nil, opening: Source? = nil, cost: Scrypt.Cost = .standard
    ) {
        self.sealing = sealing
        self.opening = opening
        self.cost = cost
    }

    package static let none = StoreKeys()

    /// The same keys where nothing is sealed any more.
    var writingPlain: StoreKeys {
        StoreKeys(opening: sealing ?? opening, cost: cost)
    }
}

extension StoreKey {
    /// A key as text: 64 hexadecimal digits, or 32 bytes in either alphabet of Base64, as
    /// `openssl rand -hex 32` and `openssl rand -base64 32` write them. Nil for anything else.
    package static func read(_ text: SecretBytes) -> StoreKey? {
        var bytes = text.withBytes { text in
            text.count == 2 * SealingKey.byteCount
                ? hexadecimal(text)
                : Base64.decode(text, .standard) ?? Base64.decode(text, .url)
        }
        defer { bytes?.withUnsafeMutableBytes { wipe($0) } }
        guard bytes?.count == SealingKey.byteCount else { return nil }
        return bytes.map { .key(SecretBytes($0)) }
    }

    private static func hexadecimal(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        func value(_ digit: UInt8) -> UInt8? {
            switch digit {
            case 0x30...0x39: digit - 0x30
            case 0x41...0x46, 0x61...0x66: (digit | 0x20) - 0x57
            default: nil
            }
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        for index in stride(from: 0, to: text.count - 1, by: 2) {
            guard let high = value(text[index]), let low = value(text[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}
