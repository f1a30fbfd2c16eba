// From settings to the parameters of an authorization request, each once and in a fixed order.
// `resource` is not among them: it goes into token requests as well.

package import Vocabulary

extension AuthorizationSettings {
    /// What there is to send.
    package var parameters: [(name: String, value: String)] {
        let words: [(name: String, value: String?)] = [
            ("response_mode", responseMode), ("audience", audience), ("login_hint", loginHint),
            ("prompt", list(prompts)), ("ui_locales", list(locales)),
            ("acr_values", list(contextClasses)), ("max_age", maxAgeSeconds.map { "\($0)" }),
            ("vtr", vectorsOfTrust.isEmpty ? nil : vectors),
        ]
        return words.compactMap { word in word.value.map { (word.name, $0) } }
    }

    private func list(_ words: [String]) -> String? {
        words.isEmpty ? nil : words.joined(separator: " ")
    }

    /// RFC 8485 section 4.1.
    private var vectors: String {
        JSONWriter.redactedText(.array(vectorsOfTrust.map { .string($0) }))
    }
}
