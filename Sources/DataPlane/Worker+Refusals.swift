// What a worker makes of a refusal: a verdict for the exchange, and a report for the control plane.

import Bytes
import Crossing
import HTTPWire
import Reactor
import Routing
import Vocabulary

extension Worker {
    /// Judges the response in `responseHead`, of 400 and more or without a body, to a request that carried a
    /// credential.
    func judge(
        _ bytes: UnsafeRawBufferPointer, _ record: borrowing RequestRecord, _ exchange: Exchange
    ) -> Exchange.Verdict {
        guard let slot = record.credential, let sent = exchange.sentGeneration else {
            return .final
        }
        let status = responseHead.isUnauthenticated(in: bytes) ? 401 : responseHead.status
        guard status >= 400 else { return .final }
        let rules = record.plan?.refusalRules ?? []
        guard status == 401 || status == 403 || rules.contains(where: { $0.status == status })
        else { return .final }
        let challenges = readChallenges(bytes)
        let isBound = record.isProven
        let scheme = credentials.withLine(slot) { RefusalTable.scheme(of: $0) }
        let finding = RefusalTable.finding(
            challenges, scheme: scheme, isBound: isBound,
            bringsNonce: isBound && hasNewNonce(record))
        let ruled = RefusalTable.action(status, challenges, by: rules)
        var verdict = ruled.map(RefusalTable.verdict) ?? RefusalTable.verdict(status, finding)
        // A token that was replaced meanwhile says nothing of the one there is now.
        if ruled == nil, status == 401, case .usable(let newest) = offer(slot), newest > sent {
            verdict = verdict == .final ? .rejected : verdict
        }
        let challenge = RefusalTable.decisive(challenges ?? [], scheme: scheme)
        var facts = ChallengeFacts(
            responseHead, bytes, from: record.upstreamOrigin, challenge, among: challenges ?? [])
        facts.status = status
        facts.wantsLogin = ruled == .login
        facts.isAfterRenewal = verdict == .rejected && exchange.hasReplayed
        if facts.isAfterRenewal || facts.wantsLogin || facts.resourceMetadata != nil
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

extension MessageHead {
    /// Whether it is gRPC's 401: status 16, UNAUTHENTICATED, in a head that is the whole answer. Its HTTP status is
    /// 200 whatever it says.
    fileprivate func isUnauthenticated(in bytes: UnsafeRawBufferPointer) -> Bool {
        guard status == 200, let type = value(of: .contentType, in: bytes), type.count >= 16,
            ASCII.equalsIgnoringCase(
                UnsafeRawBufferPointer(rebasing: type[..<16]), "application/grpc")
        else { return false }
        for index in 0..<fieldCount where fields[index].known == .other {
            if ASCII.equalsIgnoringCase(fields[index].name.bytes(in: bytes), "grpc-status") {
                return fields[index].value.bytes(in: bytes).elementsEqual([0x31, 0x36])
            }
        }
        return false
    }
}
