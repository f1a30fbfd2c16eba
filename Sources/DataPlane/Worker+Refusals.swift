// What a worker makes of a refusal: a verdict for the exchange, and a report for the control plane.

import Bytes
import Crossing
import HTTPWire
import Reactor
import Routing
import Vocabulary

extension Worker {
    /// Judges the response in `responseHead`, of 400 and more, to a request that carried a credential.
    func judge(
        _ bytes: UnsafeRawBufferPointer, _ record: borrowing RequestRecord, _ exchange: Exchange
    ) -> Exchange.Verdict {
        guard let slot = record.credential, let sent = exchange.sentGeneration else {
            return .final
        }
        let status = responseHead.status
        let rules = record.plan?.refusalRules ?? []
        guard status == 401 || status == 403 || rules.contains(where: { $0.status == status })
        else { return .final }
        let challenges = readChallenges(bytes)
        let isBound = record.isProven
        let scheme = credentials.withLine(slot) { RefusalTable.scheme(of: $0) }
        let finding = RefusalTable.finding(
            challenges, scheme: scheme, isBound: isBound,
            bringsNonce: isBound && hasNewNonce(record))
        let ruled = RefusalTable.verdict(status, challenges, by: rules)
        var verdict = ruled ?? RefusalTable.verdict(status, finding)
        // A token that was replaced meanwhile says nothing of the one there is now.
        if ruled == nil, status == 401, case .usable(let newest) = offer(slot), newest > sent {
            verdict = verdict == .final ? .rejected : verdict
        }
        let challenge = RefusalTable.decisive(challenges ?? [], scheme: scheme)
        var facts = ChallengeFacts(
            responseHead, bytes, from: record.upstreamOrigin, challenge, among: challenges ?? [])
        facts.isAfterRenewal = verdict == .rejected && exchange.hasReplayed
        if facts.isAfterRenewal || facts.resourceMetadata != nil
            || RefusalTable.told.contains(finding)
        {
            report(slot, sent, facts)
        }
        return verdict
    }

    /// Nil where they cannot be read.
    private func readChallenges(_ bytes: UnsafeRawBufferPointer) -> [Challenge]? {
        do throws(WireError) {
            return try responseHead.challenges(in: bytes)
        } catch {
            return nil
        }
    }

    private func report(
        _ slot: CredentialSlot, _ generation: Generation, _ facts: ChallengeFacts
    ) {
        guard reports.take(slot, generation, facts, now: loop.now) else { return }
        toControl(.challenged(slot, generation, facts))
    }
}
