// How a worker writes what shows that a request may be made: the credential's line, and a proof where the
// credential is bound to a key.

import Bytes
import HTTPWire
import Routing
import Vocabulary

extension Worker {
    /// Writes the credential behind the head in `output`, for each time that the request is sent.
    func writeCredential(for record: inout RequestRecord) {
        guard let slot = record.credential else { return }
        credentials.withLine(slot) { output.append($0) }
        guard let maker = credentials.maker(slot), let plan = record.plan else { return }
        let upstream = record.upstreamOrigin
        maker.write(
            for: record.head, base: plan.targetBase, upstream: upstream, into: &output)
        record.isProven = true
        record.proofTurn = maker.turn(for: upstream)
    }

    /// Keeps the nonce of the response in `responseHead`, whatever its status (RFC 9449 section 9).
    func keepNonce(_ bytes: UnsafeRawBufferPointer, of record: borrowing RequestRecord) {
        guard responseHead.present.contains(.dpopNonce),
            !responseHead.repeated.contains(.dpopNonce),
            let nonce = responseHead.value(of: .dpopNonce, in: bytes),
            let maker = record.credential.flatMap({ credentials.maker($0) })
        else { return }
        maker.note(nonce, from: record.upstreamOrigin)
    }

    /// Whether there is a nonce now that the request was not sent with.
    func hasNewNonce(_ record: borrowing RequestRecord) -> Bool {
        guard let maker = record.credential.flatMap({ credentials.maker($0) }) else { return false }
        return maker.turn(for: record.upstreamOrigin) != record.proofTurn
    }
}
