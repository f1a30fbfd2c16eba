// What a login's source says in the log, each thing once: what is wrong with the store, and that the
// login itself is about to end.

import Diagnostics
import OAuth
import TokenStore
import Vocabulary

struct LoginNotices {
    private let id: CredentialID
    private let surroundings: Surroundings
    private var said: Set<String> = []

    init(_ id: CredentialID, in surroundings: Surroundings) {
        self.id = id
        self.surroundings = surroundings
    }

    mutating func warn(of error: StoreError) {
        guard said.insert(error.message).inserted else { return }
        if let hint = error.hint {
            surroundings.log.warning(
                "the login store has a problem", ("credential", .text(id.name)),
                ("reason", .text(error.message)), ("mend", .text(hint)))
        } else {
            surroundings.log.warning(
                "the login store has a problem", ("credential", .text(id.name)),
                ("reason", .text(error.message)))
        }
    }

    func warn(of flaw: IDTokenError) {
        surroundings.log.warning(
            "a refresh brought an ID token that is not acceptable, the earlier one is kept",
            ("credential", .text(id.name)), ("reason", .text(flaw.text)))
    }

    func tellOfLoss() {
        surroundings.log.error(
            "the newest login cannot be written and is lost with this process",
            ("credential", .text(id.name)))
    }

    func note(_ oddities: [TokenResponse.Oddity]) {
        for oddity in oddities {
            surroundings.log.debug(
                "odd token response", ("credential", .text(id.name)),
                ("oddity", .text(oddity.rawValue)))
        }
    }

    mutating func warnOfEnd(of login: Login?) {
        guard let login, login.rejection == nil, let from = login.endWarningAt,
            let end = login.refreshExpiresAt, from <= surroundings.time.wallTime(),
            said.insert("end \(end.seconds)").inserted
        else { return }
        surroundings.log.warning(
            "the login ends soon: so does its refresh token", ("credential", .text(id.name)),
            ("seconds_left", .number(end.seconds - surroundings.time.wallTime().seconds)),
            ("mend", .text(surroundings.loginCommand(id))))
    }
}
