// What the control plane is told of a refusal, cut to what it may hold, and how often. A hostile upstream
// can make a worker say little, and nothing twice.

import Bytes
import Crossing
import HTTPWire
import Vocabulary

extension ChallengeFacts {
    /// Longer texts are left out whole: half a list of scopes is another list.
    private static let textBytesMax = 1024

    /// - Parameter challenge: the one that speaks of the credential, if there is one.
    init(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer, from upstream: Origin,
        _ challenge: Challenge?, among challenges: [Challenge]
    ) {
        self.init(upstream: upstream, status: head.status)
        error = challenge.flatMap { Self.text($0, "error") }
        scope = challenge.flatMap { Self.text($0, "scope") }
        acrValues = challenge.flatMap { Self.text($0, "acr_values") }
        maxAgeSeconds = challenge.flatMap { Self.text($0, "max_age") }.flatMap(Self.seconds)
        // Any challenge may carry it (RFC 9728 section 5.1).
        for challenge in challenges where resourceMetadata == nil {
            resourceMetadata = Self.text(challenge, "resource_metadata")
        }
        date = head.value(of: .date, in: bytes).flatMap { date in
            date.count <= 64 && date.allSatisfy(Self.isPrintable)
                ? String(decoding: date, as: UTF8.self) : nil
        }
    }

    private static func text(_ challenge: Challenge, _ name: String) -> String? {
        guard let value = challenge.parameter(name), !value.isEmpty,
            value.utf8.count <= textBytesMax, value.utf8.allSatisfy(isPrintable)
        else { return nil }
        return value
    }

    private static func isPrintable(_ byte: UInt8) -> Bool { (0x20..<0x7F).contains(byte) }

    private static func seconds(_ text: String) -> Int64? {
        text.utf8.allSatisfy(ASCII.isDigit) ? Int64(text) : nil
    }
}

/// What one worker may say: a few reports a second, and each only once a minute.
struct ReportBudget {
    private static let burstMax: UInt64 = 10
    private static let refillMilliseconds: UInt64 = 1000
    private static let repeatMilliseconds: UInt64 = 60_000
    private static let rememberedMax = 64

    private struct Told: Hashable {
        let slot: CredentialSlot
        let generation: Generation
        let facts: ChallengeFacts
    }

    private var left = burstMax
    private var refilledAt: UInt64 = 0
    private var told: [Told: UInt64] = [:]

    /// Whether it may be said now, in the milliseconds of a clock that never goes back.
    mutating func take(
        _ slot: CredentialSlot, _ generation: Generation, _ facts: ChallengeFacts, now: UInt64
    ) -> Bool {
        var facts = facts
        facts.date = nil
        let news = Told(slot: slot, generation: generation, facts: facts)
        if let last = told[news], now &- last < Self.repeatMilliseconds { return false }
        let earned = (now &- refilledAt) / Self.refillMilliseconds
        if earned > 0 {
            left = min(Self.burstMax, left + min(earned, Self.burstMax))
            refilledAt = now
        }
        guard left > 0 else { return false }
        left -= 1
        if told.count >= Self.rememberedMax {
            told = told.filter { now &- $0.value < Self.repeatMilliseconds }
            if told.count >= Self.rememberedMax { told = [:] }
        }
        told[news] = now
        return true
    }
}
