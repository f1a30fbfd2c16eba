// Seals records and opens them, with the keys that a process has. Plain records pass through it, so
// that a store changes from one form to the other one write at a time.

package import Bytes
package import Crypto
import Synchronization
import Vocabulary

/// Keys that were read; used on the store's own thread, since deriving one takes a while.
package final class Keyring: Sendable {
    /// What a passphrase became.
    private struct Derivation: Hashable {
        let key: Int
        let stretch: Envelope.Stretch
    }

    private struct Material {
        let identifier: String
        let key: SealingKey
    }

    static let empty = Keyring(sealing: nil, opening: nil, cost: .standard)

    /// In the order in which they are tried.
    private let keys: [StoreKey]
    private let seals: Bool
    private let cost: Scrypt.Cost
    private let derived = Mutex<[Derivation: Material]>([:])
    /// One salt for all that this process writes: each salt costs a derivation.
    private let stretch: Mutex<Envelope.Stretch?> = Mutex(nil)

    package init(sealing: StoreKey?, opening: StoreKey?, cost: Scrypt.Cost) {
        keys = [sealing, opening].compactMap { $0 }
        seals = sealing != nil
        self.cost = cost
    }

    /// The record as it is written under a name.
    package func seal(_ record: SecretBytes, name: String) -> SecretBytes {
        guard seals else { return record }
        var stretch: Envelope.Stretch?
        if case .passphrase = keys[0] { stretch = stretchForWriting() }
        guard let material = material(0, stretch) else {
            preconditionFailure("the configured cost is one of scrypt's")
        }
        let box = SealedBox.seal(
            record, key: material.key, associatedData: Envelope.associatedData(name))
        return Envelope(key: material.identifier, stretch: stretch, box: box).written
    }

    /// The record that was written under a name, whatever its form; `path` is for the error.
    package func open(
        _ bytes: SecretBytes, name: String, path: String
    ) throws(StoreError) -> SecretBytes {
        guard let envelope = try Envelope(bytes, path: path) else { return bytes }
        guard !keys.isEmpty else { throw .locked(path: path, .noKey) }
        for index in keys.indices {
            guard let material = material(index, envelope.stretch),
                material.identifier == envelope.key
            else { continue }
            let record = envelope.box.withUnsafeBytes { box in
                SealedBox.open(
                    box, key: material.key, associatedData: Envelope.associatedData(name))
            }
            guard let record else { throw .damaged(path: path, .unauthentic) }
            // The next write uses the same salt, which is derived already.
            if index == 0, let stretch = envelope.stretch, stretch.cost == cost {
                self.stretch.withLock { $0 = $0 ?? stretch }
            }
            return record
        }
        throw .locked(path: path, .otherKey)
    }

    private func stretchForWriting() -> Envelope.Stretch {
        stretch.withLock { known in
            let stretch = known ?? Envelope.Stretch(salt: RandomBytes.make(16), cost: cost)
            known = stretch
            return stretch
        }
    }

    /// Nil where the record was sealed with the other kind of key.
    private func material(_ index: Int, _ stretch: Envelope.Stretch?) -> Material? {
        switch (keys[index], stretch) {
        case (.key(let bytes), nil): return Self.material(bytes)
        case (.passphrase(let passphrase), let stretch?):
            let derivation = Derivation(key: index, stretch: stretch)
            if let known = derived.withLock({ $0[derivation] }) { return known }
            guard
                let bytes = Scrypt.derive(passphrase, salt: stretch.salt, cost: stretch.cost),
                let material = Self.material(bytes)
            else { return nil }
            derived.withLock { $0[derivation] = material }
            return material
        case (.key, _?), (.passphrase, nil): return nil
        }
    }

    private static func material(_ bytes: SecretBytes) -> Material? {
        SealingKey(bytes).map { Material(identifier: Envelope.identifier(of: bytes), key: $0) }
    }
}
