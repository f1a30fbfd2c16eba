// When a token that somebody else has got meanwhile makes one of our own unnecessary.

import Bytes
import Vocabulary

extension Token {
    /// Whether it is as good as what a renewal would bring: not the refused one, usable, and not so
    /// old that it is due again.
    func sparesRenewal(
        rejected: SecretBytes?, isUrgent: Bool, at now: BootTime, leadSeconds: Int64?
    ) -> Bool {
        guard secret != rejected, isUsable(at: now) else { return false }
        guard !isUrgent else { return true }
        let due = RefreshAhead.due(self, configuredSeconds: leadSeconds, chance: 0)
        return due.map { now < $0 } ?? true
    }
}
