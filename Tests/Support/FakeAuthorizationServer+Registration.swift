// Clients that register themselves (RFC 7591), at a server that keeps one of them.

import Synchronization

extension FakeAuthorizationServer {
    var registrationMetadata: String {
        policy.registers ? ",\"registration_endpoint\":\"\(origin)/register\"" : ""
    }

    /// What clients sent in order to register.
    package var registrations: [HTTPMessage] { state.withLock { $0.registrations } }

    func register(_ request: HTTPMessage) -> FakeResponse {
        state.withLock { state in
            guard state.policy.registers else { return FakeResponse(404, body: "no such endpoint") }
            state.registrations.append(request)
            let name = "dcr-\(state.registrations.count)"
            state.policy.clientID = name
            state.policy.clientSecret = nil
            return .json(
                """
                {"client_id":"\(name)","client_id_issued_at":1700000000,
                "token_endpoint_auth_method":"none"}
                """, status: 201)
        }
    }
}
