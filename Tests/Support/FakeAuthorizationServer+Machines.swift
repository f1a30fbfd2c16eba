// What the fake authorization server does without a browser: codes for devices, the client's own
// account, signed statements, token exchange.

import Bytes
package import Crypto
import Synchronization

extension FakeAuthorizationServer {
    /// How it treats machines.
    package struct MachinePolicy: Sendable {
        /// Names of the errors that polls meet, in order; after them the device is approved.
        package var polls: [String] = ["authorization_pending"]
        /// JSON text of `interval`; nil leaves it out.
        package var interval: String? = "1"
        package var deviceSeconds = 600
        package var verificationURI: String?
        package var userCode = "WDJB-MJHT"
        /// The key that client assertions are checked with, in place of a secret.
        package var clientKey: VerificationKey?
        /// What a client assertion must be for; nil is the issuer.
        package var assertionAudience: String?

        package init() {}
    }

    struct Machines: Sendable {
        var devices: [String: (scope: String, polls: Int)] = [:]
        var assertions: Set<String> = []
        var deviceRequests: [FormText] = []
    }

    /// The forms that came to the device endpoint.
    package var deviceRequests: [FormText] { state.withLock { $0.machines.deviceRequests } }

    var machineMetadata: String {
        ",\"device_authorization_endpoint\":\"\(origin)/device\""
    }

    func authorizeDevice(_ request: HTTPMessage) -> FakeResponse {
        let form = FormText(reading: request.body.text)
        let origin = origin
        return state.withLock { state in
            state.machines.deviceRequests.append(form)
            let policy = state.policy.machines
            let code = state.grants.secret("device")
            state.machines.devices[code] = (form["scope"] ?? "", 0)
            let uri = policy.verificationURI ?? "\(origin)/activate"
            let interval = policy.interval.map { ",\"interval\":\($0)" } ?? ""
            return .json(
                """
                {"device_code":"\(code)","user_code":\(jsonText(policy.userCode)),\
                "verification_uri":\(jsonText(uri)),\
                "verification_uri_complete":\(jsonText(uri + "?user_code=" + policy.userCode)),\
                "expires_in":\(policy.deviceSeconds)\(interval)}
                """)
        }
    }

    /// The grants that need no browser; nil for any other.
    static func machineGrant(_ form: FormText, _ state: inout State) -> FakeGrants.Outcome? {
        switch form["grant_type"] {
        case "urn:ietf:params:oauth:grant-type:device_code": return pollDevice(form, &state)
        case "client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "urn:ietf:params:oauth:grant-type:token-exchange":
            var policy = state.policy
            policy.givesRefreshToken = false
            return state.grants.makeFamily(scope: form["scope"] ?? "", policy: policy)
        default: return nil
        }
    }

    private static func pollDevice(_ form: FormText, _ state: inout State) -> FakeGrants.Outcome {
        guard let code = form["device_code"], let device = state.machines.devices[code] else {
            return .refused(status: 400, code: "invalid_grant")
        }
        let polls = state.policy.machines.polls
        state.machines.devices[code]?.polls += 1
        if device.polls < polls.count {
            return .refused(status: 400, code: polls[device.polls])
        }
        state.machines.devices[code] = nil
        return state.grants.makeFamily(scope: device.scope, policy: state.policy)
    }

    /// Whether an assertion is ours, for us, signed by the client's key and here for the first time
    /// (RFC 7523 section 3).
    static func takes(
        assertionOf form: FormText, _ state: inout State, issuer: String
    ) -> Bool {
        guard let key = state.policy.machines.clientKey,
            form["client_assertion_type"]
                == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            form["client_secret"] == nil, let assertion = form["client_assertion"]
        else { return false }
        let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
            .map(String.init)
        guard parts.count == 3, let claims = Base64.decode(parts[1], .url),
            let signature = Base64.decode(parts[2], .url),
            let head = Base64.decode(parts[0], .url)
        else { return false }
        let header = String(decoding: head, as: UTF8.self)
        let text = String(decoding: claims, as: UTF8.self)
        guard
            let name = header.components(separatedBy: "\"alg\":\"").last?.split(separator: "\"")
                .first,
            let algorithm = JWSAlgorithm(rawValue: String(name))
        else { return false }
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        let isSigned = signed.withUnsafeBytes { key.verify(signature, over: $0, as: algorithm) }
        let audience = state.policy.machines.assertionAudience ?? issuer
        let client = state.policy.clientID
        return isSigned && text.contains("\"aud\":\"\(audience)\"")
            && text.contains("\"iss\":\"\(client)\"") && text.contains("\"sub\":\"\(client)\"")
            && text.contains("\"exp\":") && text.contains("\"jti\":")
            && state.machines.assertions.insert(assertion).inserted
    }
}
