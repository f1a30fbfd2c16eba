// Whose login it is. A login of one credential stays one person's: requests of theirs must not go out
// under another name because somebody else was logged in at the provider's page.

import OAuth
import TokenStore
import Vocabulary

/// A person as a provider names them.
struct PersonAtProvider: Equatable {
    let issuer: String
    let subject: String

    /// By the ID token, or by what the token answer said itself, as some profiles have it.
    init?(_ login: Login) {
        if let token = login.idToken.flatMap({ try? IDToken($0) }) {
            issuer = token.issuer
            subject = token.subject
        } else if let subject = login.subject, let issuer = login.issuer {
            self.issuer = issuer
            self.subject = subject
        } else {
            return nil
        }
    }

    static func == (left: Self, right: Self) -> Bool {
        left.issuer.isIdentical(to: right.issuer) && left.subject.isIdentical(to: right.subject)
    }
}

extension Login {
    /// Whether both are known to be one person's login to one client of one provider.
    func isSamePerson(as other: Login) -> Bool {
        guard clientID.isIdentical(to: other.clientID), issuer == other.issuer,
            let ours = PersonAtProvider(self), let theirs = PersonAtProvider(other)
        else { return false }
        return ours == theirs
    }

    /// The other person, where the provider names another one than in this login. Names of different
    /// providers say nothing of each other.
    func otherPerson(in fresh: Login) -> (known: String, received: String)? {
        guard let known = PersonAtProvider(self), let received = PersonAtProvider(fresh),
            known.issuer.isIdentical(to: received.issuer), known != received
        else { return nil }
        return (known.subject, received.subject)
    }
}
