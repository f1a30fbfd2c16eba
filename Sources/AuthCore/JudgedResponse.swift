// A refresh's answer after its ID token was judged: what of it is taken, and whether it helps who waits.

import OAuth
import Vocabulary

struct JudgedResponse {
    /// Without the ID token where that is not believed.
    let response: TokenResponse
    /// Whom a believed ID token is of.
    let subject: String?
    /// Why it is not believed.
    let flaw: IDTokenError?

    init(_ response: TokenResponse, _ verdict: IdentityCheck.Verdict) {
        switch verdict {
        case .accepted(let token):
            self.response = response
            subject = token.subject
            flaw = nil
        case .absent, .undecided:
            self.response = response
            subject = nil
            flaw = nil
        case .refused(let error):
            self.response = response.withoutIDToken
            subject = nil
            flaw = error
        }
    }

    /// Whether nothing of the answer may be used.
    var isOfAnotherPerson: Bool { flaw?.isOfAnotherPerson ?? false }

    /// Why it brings nothing to somebody who waits for the token that requests carry; nil where it
    /// does.
    ///
    /// - Parameter hasUsableToken: an earlier one is good for a while.
    func lack(of injected: InjectedToken, hasUsableToken: Bool) -> Lack? {
        guard injected == .idToken, response.idToken == nil else { return nil }
        if let flaw {
            return .transient(
                retryAfterSeconds: nil,
                reason: "the refreshed ID token is not acceptable: \(flaw.text)")
        }
        guard hasUsableToken else { return .loginNeeded(code: "no_id_token") }
        return .transient(
            retryAfterSeconds: nil, reason: "the provider's answer to a refresh holds no ID token")
    }
}
