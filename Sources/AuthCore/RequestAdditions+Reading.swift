// Turns what the configuration adds to requests into what is sent: texts as they stand, files,
// variables and programs read now. A program is run for every request, so that no two carry the same
// proof.

import Bytes
import OAuth
import Vocabulary

extension OAuthSettings {
    /// The variable in which a program finds the provider's newest attestation challenge
    /// (Attestation-Based Client Authentication, draft-ietf-oauth-attestation-based-client-auth).
    static let challengeVariable = "OAUTH_CLIENT_ATTESTATION_CHALLENGE"

    /// What goes with one request of that kind.
    ///
    /// - Parameter challenge: what the provider wants repeated in the next proof.
    func read(
        additionsTo kind: RequestKind, answering challenge: String? = nil,
        in surroundings: Surroundings
    ) async throws(SecretError) -> FormAdditions {
        let wanted = additions(to: kind)
        let variables = challenge.map { [Self.challengeVariable: $0] } ?? [:]
        var read = FormAdditions()
        for parameter in wanted.parameters {
            switch parameter.value {
            case .text(let text): read.parameters.append(FormParameter(parameter.name, text))
            case .secret(let source):
                let value = try SecretText.trimmed(
                    try await source.readRaw(in: surroundings, telling: variables),
                    source: source.name)
                read.parameters.append(FormParameter(parameter.name, value))
                read.secrets.append(value)
            }
        }
        for field in wanted.fields {
            switch field.value {
            case .text(let text): read.fields.append(.init(field.name, text))
            case .secret(let source):
                let value = try SecretText.token(
                    try await source.readRaw(in: surroundings, telling: variables),
                    source: source.name)
                read.fields.append(.init(field.name, value))
                read.secrets.append(value)
            }
        }
        return read
    }
}
