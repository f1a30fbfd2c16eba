// Which 401 says that the credential is no longer good, so that a newer one may help (RFC 6750 section
// 3.1; RFC 9449 section 7.1). Any other is the client's to see.

import Bytes
import HTTPWire

enum RejectionRule {
    /// Decides from the challenges of a 401.
    ///
    /// - A Bearer or DPoP challenge with `invalid_token`, or without an error: yes.
    /// - One with another error (`invalid_request`, `invalid_dpop_proof`): no, a newer token would be
    ///   refused in the same way.
    /// - Only schemes that take no token of ours (Basic, Negotiate): no.
    /// - No challenge at all, or one that cannot be read: yes. APIs that answer so are common, and the
    ///   price of being wrong is one refresh.
    static func rejectsCredential(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
        let challenges: [Challenge]
        do throws(WireError) {
            challenges = try head.challenges(in: bytes)
        } catch {
            return true
        }
        if challenges.isEmpty { return true }
        return challenges.contains { challenge in
            guard challenge.scheme == "bearer" || challenge.scheme == "dpop" else { return false }
            let error = challenge.parameter("error")
            return error == nil || error == "invalid_token"
        }
    }

    /// The scope that a 403 asks for (RFC 6750 section 3.1), so that the log can name what the login
    /// lacks; nil where it says nothing of scopes.
    static func missingScope(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer
    ) -> String? {
        guard let challenges = try? head.challenges(in: bytes) else { return nil }
        return challenges.first { $0.parameter("error") == "insufficient_scope" }
            .map { $0.parameter("scope") ?? "" }
    }
}
