// What grants without a person are tested on: the settings of one, and what a token request said.

import Bytes
import Crossing
import OAuth
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

extension Ground {
    static func settings(of grant: GrantSettings) -> OAuthSettings {
        var settings = Ground.settings
        settings.grant = grant
        settings.clientSecret = .environment(name: "CLIENT_SECRET")
        settings.clientAuthentication = .post
        settings.scopes = ["a", "b"]
        return settings
    }

    /// A ground whose environment has the client's secret.
    static func machine(
        _ answers: [Result<InboundResponse, FetchError>], sharing other: Ground? = nil
    ) throws -> Ground {
        try Ground(
            ScriptedFetcher(answers),
            environment: ["PATH": "/usr/bin:/bin", "CLIENT_SECRET": "canary-client"],
            sharing: other)
    }

    func machineKeeper(
        _ settings: OAuthSettings, roster: KeeperRoster = KeeperRoster(),
        as id: CredentialID = github
    ) -> CredentialKeeper {
        CredentialKeeper(
            CredentialSettings(id: id, kind: .oauth(settings)),
            discovery: DiscoveryDesk(in: surroundings), desk: nil, roster: roster,
            in: surroundings)
    }
}

extension Ground {
    /// Asks again, each time a little later by the clock too: who had not begun to sleep when a test
    /// moved the clock would sleep for good.
    func tick(
        _ what: Comment, _ isTrue: @escaping @Sendable () async throws -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await eventually(
            what,
            { [clock] in
                if try await isTrue() { return true }
                clock.advance(milliseconds: 2)
                return false
            }, sourceLocation: sourceLocation)
    }
}

/// The claims of an assertion in a form.
func claims(_ assertion: String?) throws -> (header: JSONObject, claims: JSONObject) {
    let token = try JSONWebToken(SecretBytes(try #require(assertion)))
    return (token.header, token.claims)
}

extension JSONObject {
    func text(_ name: String) -> String? { self[name]?.asString }
    func number(_ name: String) -> Int64? { self[name]?.asNumber?.asInteger }
}
