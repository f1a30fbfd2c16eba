// A credential that goes with proofs, as one worker holds it (RFC 9449 section 7): a signer of its own, and
// the newest nonce of each upstream. It signs and remembers; when to sign is the exchange's.

import Bytes
import Crossing
import Crypto
import HTTPWire
import Vocabulary

/// One bound credential. Only its worker's thread touches it.
final class ProofMaker {
    private struct Nonce {
        let upstream: Origin
        var value: [UInt8]
        /// Counts all changes; 0 is before any.
        var turn: UInt64
    }

    private let key: SecretBytes
    private let signer: ProofSigner
    private var accessTokenHash: [UInt8]
    private var nonces: [Nonce] = []
    private var turns: UInt64 = 0
    private var url = ByteBuffer(capacity: 256)

    /// Upstreams whose nonces are kept.
    private static let noncesMax = 64
    private static let nonceBytesMax = 512

    /// Nil where the key is none; the control plane has looked at it already.
    init?(_ binding: CredentialUpdate.Binding) {
        // Parsed here, so that no two threads count references to one key.
        guard let key = try? SigningKey(stored: binding.key), key.algorithms.contains(.es256) else {
            return nil
        }
        self.key = binding.key
        signer = ProofSigner(key)
        accessTokenHash = binding.accessTokenHash
    }

    /// Takes over a new token of the same login; false where the key is another, and so the login.
    func renew(_ binding: CredentialUpdate.Binding) -> Bool {
        guard binding.key == key else { return false }
        accessTokenHash = binding.accessTokenHash
        return true
    }

    /// How often the nonce of an upstream has changed; equal numbers mean the same nonce.
    func turn(for upstream: Origin) -> UInt64 {
        nonces.first { $0.upstream == upstream }?.turn ?? 0
    }

    /// Keeps a nonce that a response brought, unless it is none (section 8.1).
    func note(_ nonce: UnsafeRawBufferPointer, from upstream: Origin) {
        guard (1...Self.nonceBytesMax).contains(nonce.count),
            nonce.allSatisfy({ (0x21...0x7E).contains($0) && $0 != ASCII.quote && $0 != 0x5C })
        else { return }
        let place = nonces.firstIndex { $0.upstream == upstream }
        if let place, nonces[place].value.elementsEqual(nonce) { return }
        turns += 1
        let fresh = Nonce(upstream: upstream, value: Array(nonce), turn: turns)
        if let place {
            nonces[place] = fresh
        } else {
            if nonces.count == Self.noncesMax { nonces.removeFirst() }
            nonces.append(fresh)
        }
    }

    /// Writes `DPoP: …` and CR LF for a request head as it goes upstream.
    ///
    /// - Parameters:
    ///   - head: begins with the request line.
    ///   - base: scheme and authority as the upstream knows itself.
    func write(
        for head: UnsafeRawBufferPointer, base: [UInt8], upstream: Origin,
        into output: inout ByteBuffer
    ) {
        let methodEnd = head.firstIndex(of: ASCII.space) ?? head.count
        let method = UnsafeRawBufferPointer(rebasing: head[..<methodEnd])
        let target = head[min(methodEnd + 1, head.count)...]
        let path = target.prefix { $0 != ASCII.space && $0 != ASCII.question }
        url.removeAll()
        base.withUnsafeBytes { url.append($0) }
        // The target `*` is the server's, whose URL has no path (RFC 9110 section 7.1).
        if path.first == ASCII.slash { url.append(UnsafeRawBufferPointer(rebasing: path)) }
        let nonce = nonces.first { $0.upstream == upstream }?.value
        let proof = signer.proof(
            method: method, url: url.bytes, accessTokenHash: accessTokenHash, nonce: nonce,
            issuedAt: SystemTime().wallTime().seconds)
        output.append("DPoP: ")
        proof.withUnsafeBytes { output.append($0) }
        output.append("\r\n")
    }
}
