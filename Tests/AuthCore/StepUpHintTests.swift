import Bytes
import OAuth
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `Hints of a step up` {
    private func challenge(
        _ error: String, scopes: [String] = [], acr: [String] = [], maxAge: Int64? = nil
    ) -> UpstreamChallenge {
        UpstreamChallenge(
            upstream: "https://api.example.com", status: 403, error: error, scopes: scopes,
            acrValues: acr, maxAgeSeconds: maxAge, resourceMetadata: nil, isAfterRenewal: false,
            at: WallTime(seconds: 1))
    }

    @Test func `name the scopes that are not granted yet (F70)`() {
        let demand = challenge("insufficient_scope", scopes: ["api", "files; rm"], acr: ["phr"])
        #expect(demand.loginFlags(beyond: ["api"]) == ["--add-scope=files; rm"])
        #expect(demand.loginFlags(beyond: ["files; rm", "api"]).isEmpty)
        #expect(challenge("invalid_token", scopes: ["x"]).loginFlags(beyond: []).isEmpty)
    }

    @Test func `name a stronger or newer authentication (RFC 9470)`() {
        let demand = challenge(
            "insufficient_user_authentication", acr: ["phrh", "phr"], maxAge: 0)
        #expect(demand.loginFlags(beyond: []) == ["--acr=phrh phr", "--max-age=0s"])
    }

    @Test func `are of the newest demand that is still open`() throws {
        var login = Login(clientID: "c", obtainedAt: WallTime(seconds: 0))
        login.scope = "api"
        let demands = [
            challenge("invalid_token"), challenge("insufficient_scope", scopes: ["api"]),
            challenge("insufficient_scope", scopes: ["files"]),
            challenge("insufficient_scope", scopes: ["more"]),
        ]
        #expect(demands.loginFlags(beyond: login) == ["--add-scope=files"])
        #expect([UpstreamChallenge]().loginFlags(beyond: login).isEmpty)
    }
}
