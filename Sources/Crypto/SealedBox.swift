// Authenticated encryption for what lies on disk: AES-256-GCM (NIST SP 800-38D) with a fresh random
// nonce each time. A box says neither how its key was found nor what is in it.

package import Bytes
import COpenSSL

/// 256 bits, however they were come by.
package struct SealingKey: Sendable {
    package static let byteCount = 32

    fileprivate let bytes: SecretBytes

    /// Nil unless there are 32 bytes.
    package init?(_ bytes: SecretBytes) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }
}

package enum SealedBox {
    /// Random nonces of 96 bits are safe for 2^32 boxes under one key (section 8.3).
    private static let nonceBytes = 12
    private static let tagBytes = 16

    /// How many bytes a box has beyond what is in it.
    package static let overheadBytes = nonceBytes + tagBytes

    /// Nonce, ciphertext and tag in a row.
    ///
    /// - Parameter associatedData: not part of the box, but needed to open it: what the box is for, so
    ///   that it cannot be put in another's place.
    package static func seal(
        _ plaintext: SecretBytes, key: SealingKey, associatedData: [UInt8]
    ) -> [UInt8] {
        let nonce = RandomBytes.make(nonceBytes)
        return withCipher { context in
            let size = nonceBytes + plaintext.count + tagBytes
            return [UInt8](unsafeUninitializedCapacity: size) { target, count in
                let body = target.baseAddress! + nonceBytes
                _ = target.initialize(from: nonce)
                var written: Int32 = 0
                let isSealed =
                    key.bytes.withBytes { key in
                        EVP_EncryptInit_ex(
                            context, EVP_aes_256_gcm(), nil,
                            key.bindMemory(to: UInt8.self).baseAddress, nonce) == 1
                    }
                    && EVP_EncryptUpdate(
                        context, nil, &written, associatedData, Int32(associatedData.count)) == 1
                    && plaintext.withBytes { bytes in
                        EVP_EncryptUpdate(
                            context, body, &written,
                            bytes.bindMemory(to: UInt8.self).baseAddress, Int32(bytes.count)) == 1
                    }
                    && EVP_EncryptFinal_ex(context, body + plaintext.count, &written) == 1
                    && EVP_CIPHER_CTX_ctrl(
                        context, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), body + plaintext.count)
                        == 1
                guard isSealed else { outOfMemory() }
                count = size
            }
        }
    }

    /// Nil for another key, another purpose or a box that anybody has touched: there is no telling
    /// which, and nothing of the plaintext is given out.
    package static func open(
        _ box: UnsafeRawBufferPointer, key: SealingKey, associatedData: [UInt8]
    ) -> SecretBytes? {
        guard box.count >= overheadBytes, box.count <= Int(Int32.max) else { return nil }
        let count = box.count - overheadBytes
        let source = box.bindMemory(to: UInt8.self)
        var tag = Array(source[(nonceBytes + count)...])
        return withCipher { context in
            var isGenuine = false
            let plaintext = SecretBytes(count: count) { target in
                // A target even where nothing is to be written, since OpenSSL takes null for
                // associated data.
                var nothing: [UInt8] = [0]
                var written: Int32 = 0
                let isStarted = key.bytes.withBytes { key in
                    EVP_DecryptInit_ex(
                        context, EVP_aes_256_gcm(), nil,
                        key.bindMemory(to: UInt8.self).baseAddress, source.baseAddress) == 1
                }
                isGenuine =
                    isStarted
                    && EVP_DecryptUpdate(
                        context, nil, &written, associatedData, Int32(associatedData.count)) == 1
                    && (count == 0
                        || EVP_DecryptUpdate(
                            context, target.bindMemory(to: UInt8.self).baseAddress, &written,
                            source.baseAddress! + nonceBytes, Int32(count)) == 1)
                    && EVP_CIPHER_CTX_ctrl(
                        context, EVP_CTRL_AEAD_SET_TAG, Int32(tagBytes), &tag) == 1
                    && EVP_DecryptFinal_ex(context, &nothing, &written) == 1
            }
            return isGenuine ? plaintext : nil
        }
    }

    private static func withCipher<Value>(_ body: (OpaquePointer) -> Value) -> Value {
        withoutTrace {
            guard let context = EVP_CIPHER_CTX_new() else { outOfMemory() }
            defer { EVP_CIPHER_CTX_free(context) }
            return body(context)
        }
    }
}
