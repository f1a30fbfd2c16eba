// The form of a sealed record on disk: JSON of version 2, which releases that know only plain records
// refuse without touching it. It holds what is needed to find the key, and nothing of the login.

import Bytes
import Crypto
import Vocabulary

/// A box with what is written on it.
struct Envelope {
    /// How a passphrase becomes a key (RFC 7914 section 2).
    struct Stretch: Hashable, Sendable {
        let salt: [UInt8]
        let cost: Scrypt.Cost
    }

    static let version: Int64 = 2
    private static let cipher = "A256GCM"

    /// Tells a wrong key from a damaged record.
    let key: String
    /// Nil for a key that is none of a passphrase's.
    let stretch: Stretch?
    let box: [UInt8]

    /// A box opens only under the name that it was sealed for, and as what this version takes it for.
    static func associatedData(_ name: String) -> [UInt8] {
        Array("credential-proxy store \(version)\n\(name)".utf8)
    }

    /// A name of the key from which nobody gets to the key.
    static func identifier(of key: SecretBytes) -> String {
        let label = Array("credential-proxy store key\n".utf8)
        var text = label
        text.reserveCapacity(label.count + key.count)
        key.withBytes { text.append(contentsOf: $0) }
        defer { text.withUnsafeMutableBytes { wipe($0) } }
        return Base64.encode(Array(Digest.sha256(text).prefix(12)), .url)
    }

    init(key: String, stretch: Stretch?, box: [UInt8]) {
        self.key = key
        self.stretch = stretch
        self.box = box
    }

    /// Nil for anything but a sealed record; what is no record at all is for the record's own reader.
    init?(_ bytes: SecretBytes, path: String) throws(StoreError) {
        guard let record = (try? JSONReader.read(bytes, strings: .secret))?.asObject,
            record["version"]?.asNumber?.asInteger == Self.version,
            let sealed = record["sealed"]?.asObject
        else { return nil }
        guard sealed["cipher"]?.asRevealedString == Self.cipher else {
            throw .newerVersion(path: path, version: Self.version)
        }
        guard let key = sealed["key"]?.asRevealedString,
            let box = sealed["box"]?.asSecret?.withBytes({ Base64.decode($0, .url) })
        else { throw .damaged(path: path, .member("sealed")) }
        self.key = key
        self.box = box
        switch sealed["scrypt"] {
        case nil: stretch = nil
        case let value?:
            guard let read = Stretch(value) else { throw .damaged(path: path, .member("scrypt")) }
            stretch = read
        }
    }

    var written: SecretBytes {
        var sealed = JSONObject([
            .init(name: "cipher", value: .string(Self.cipher)),
            .init(name: "key", value: .string(key)),
        ])
        sealed["scrypt"] = stretch?.document
        sealed["box"] = .string(Base64.encode(box, .url))
        return JSONWriter.write(
            ["version": .number(JSONNumber(Self.version)), "sealed": .object(sealed)],
            style: .indented)
    }
}

extension Envelope.Stretch {
    fileprivate init?(_ value: JSONValue) {
        guard let object = value.asObject,
            let salt = object["salt"]?.asSecret?.withBytes({ Base64.decode($0, .url) }),
            let work = object["n"]?.asNumber?.asInteger.flatMap({ UInt64(exactly: $0) }),
            let blockSize = object["r"]?.asNumber?.asInteger.flatMap({ UInt64(exactly: $0) }),
            let parallelism = object["p"]?.asNumber?.asInteger.flatMap({ UInt64(exactly: $0) })
        else { return nil }
        self.init(
            salt: salt,
            cost: Scrypt.Cost(work: work, blockSize: blockSize, parallelism: parallelism))
    }

    fileprivate var document: JSONValue {
        func number(_ value: UInt64) -> JSONValue { .number(JSONNumber(Int64(clamping: value))) }
        return [
            "salt": .string(Base64.encode(salt, .url)), "n": number(cost.work),
            "r": number(cost.blockSize), "p": number(cost.parallelism),
        ]
    }
}
