// From what the configuration says of the store's key to what the store asks for it.

import AuthCore
import Bytes
import Configuration
import TokenStore
import Vocabulary

extension StoreSettings {
    var secretSources: [SecretSource] { [encryption, decryption].compactMap { $0?.secret } }

    /// - Parameter surroundings: where files, variables and programs are read; its store is not used.
    func keys(in surroundings: AuthCore.Surroundings) -> StoreKeys {
        StoreKeys(
            sealing: encryption.map { $0.source(in: surroundings) },
            opening: decryption.map { $0.source(in: surroundings) })
    }
}

extension StoreSettings.Key {
    /// Where it is read from.
    var secret: SecretSource {
        switch self {
        case .key(let source), .passphrase(let source): source
        }
    }

    fileprivate func source(in surroundings: AuthCore.Surroundings) -> StoreKeys.Source {
        { () async throws(StoreKeyError) -> StoreKey in
            let text: SecretBytes
            do throws(SecretError) {
                text = try await secret.read(in: surroundings)
            } catch {
                throw StoreKeyError(reason: error.message)
            }
            switch self {
            case .passphrase: return .passphrase(text)
            case .key:
                guard let key = StoreKey.read(text) else {
                    throw StoreKeyError(
                        reason: "\(secret.name) holds no key: 32 bytes are expected, as "
                            + "\"openssl rand -hex 32\" writes them")
                }
                return key
            }
        }
    }
}
