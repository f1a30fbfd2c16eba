// From what an API asked for to what `proxy login` is told: the one place where a stranger's demand
// becomes a suggestion to a person. Nothing here asks for anything by itself (RFC 6750 section 3.1;
// RFC 9470 section 5).

import TokenStore

extension UpstreamChallenge {
    /// The flags of a login that meets the demand, each one word to be quoted by whoever shows it;
    /// none where the login has it all, or where no login would help.
    func loginFlags(beyond granted: [String]) -> [String] {
        let missing = scopes.filter { !granted.contains($0) }
        switch error {
        case "insufficient_scope": return missing.map { "--add-scope=\($0)" }
        case "insufficient_user_authentication":
            return missing.map { "--add-scope=\($0)" }
                + (acrValues.isEmpty ? [] : ["--acr=\(acrValues.joined(separator: " "))"])
                + (maxAgeSeconds.map { ["--max-age=\(max(0, $0))s"] } ?? [])
        default: return []
        }
    }
}

extension [UpstreamChallenge] {
    /// What the newest demand that is still open needs.
    func loginFlags(beyond login: Login) -> [String] {
        lazy.map { $0.loginFlags(beyond: login.grantedScopes) }.first { !$0.isEmpty } ?? []
    }
}
