// Judges what arrives at the callback (RFC 6749 section 4.1.2; RFC 9207). It decides nothing from a
// message whose state is not this login's, and shows nothing of one whose issuer is another's.

package import Bytes
import Vocabulary

/// Why a callback gave no code.
package enum CallbackError: Error, Hashable, Sendable {
    /// No query at all: the answer is in the fragment, which no server sees, or the URL was cut.
    case noParameters
    case unreadable
    case stateMissing
    case stateMismatch
    /// A pasted URL that is not the redirect URI of this login.
    case otherRedirect
    /// The server promises `iss` and sent none.
    case issuerMissing(expected: String)
    /// The answer comes from another server; nothing else in it may be believed.
    case issuerMismatch(expected: String, received: String)
    /// The server's own refusal; both texts are cleaned for showing.
    case refused(code: String, description: String?)
    case codeMissing

    /// Whether the login is over. All else may be anybody's message and leaves it waiting.
    package var endsLogin: Bool {
        switch self {
        case .noParameters, .unreadable, .stateMissing, .stateMismatch, .otherRedirect: false
        case .issuerMissing, .issuerMismatch, .refused, .codeMissing: true
        }
    }
}

extension CallbackError {
    /// What a refusal means, by the table for token answers; nil for all other errors.
    package var verdict: TokenFailure.Verdict? {
        guard case .refused(let code, _) = self else { return nil }
        return TokenFailure.verdict(status: 400, code: code, retryAfterSeconds: nil)
    }
}

/// A good answer.
package struct AuthorizationResponse: Sendable {
    /// To be sent once, in one token request.
    package let code: SecretBytes

    /// Reads the query of a request to the callback: `code=…&state=…`, without "?".
    package static func read(
        query: UnsafeRawBufferPointer, for request: AuthorizationRequest
    ) throws(CallbackError) -> AuthorizationResponse {
        guard !query.isEmpty else { throw .noParameters }
        // Once each, and readable; whatever else servers add is ignored (RFC 6749 section 4.1.2).
        func value(_ name: String) throws(CallbackError) -> SecretBytes? {
            do throws(FormError) {
                return try FormEncoding.value(of: name, in: query)
            } catch {
                throw .unreadable
            }
        }

        guard let state = try value("state") else { throw .stateMissing }
        guard state == SecretBytes(request.state) else { throw .stateMismatch }
        let (refusal, issuer) = (try value("error"), try value("iss"))
        do throws(CallbackError) {
            try checkIssuer(issuer, for: request)
        } catch {
            // Some servers leave out what they promise when they refuse (Django OAuth Toolkit). The
            // login is over either way; of an answer whose sender is in doubt no word is shown but a
            // code that everybody knows.
            if case .issuerMissing = error,
                let code = refusal.map({ DisplayText.clean($0) }),
                TokenFailure.codes.contains(where: { $0.code.isIdentical(to: code) })
            {
                throw .refused(code: code, description: nil)
            }
            throw error
        }
        if let code = refusal, !code.isEmpty {
            throw .refused(
                code: DisplayText.clean(code, lettersMax: 64),
                // Words that cannot be read are none.
                description: (try? value("error_description")).map { DisplayText.clean($0) })
        }
        guard let code = try value("code"), !code.isEmpty else { throw .codeMissing }
        return AuthorizationResponse(code: code)
    }

    /// Reads a URL that a person copied from the browser's address field.
    package static func read(
        pasted text: String, for request: AuthorizationRequest
    ) throws(CallbackError) -> AuthorizationResponse {
        let text = text.drop { $0.isWhitespace }
        let end = text.lastIndex { !$0.isWhitespace }.map(text.index(after:)) ?? text.endIndex
        let url = text[..<end].prefix { $0 != "#" }
        let target = url.prefix { $0 != "?" }
        guard String(target).isIdentical(to: request.redirectURI) else { throw .otherRedirect }
        var query = String(url.dropFirst(target.count).dropFirst())
        // `withUTF8` rethrows without a type.
        return try query.withUTF8 { bytes in
            Result { () throws(CallbackError) in
                try read(query: UnsafeRawBufferPointer(bytes), for: request)
            }
        }.get()
    }

    /// RFC 9207 section 2.4. A value that was not promised is compared as well.
    private static func checkIssuer(
        _ received: SecretBytes?, for request: AuthorizationRequest
    ) throws(CallbackError) {
        guard let expected = request.issuer else { return }
        guard let received else {
            if request.issuerIsPromised { throw .issuerMissing(expected: expected) }
            return
        }
        guard received == SecretBytes(expected) else {
            throw .issuerMismatch(expected: expected, received: DisplayText.clean(received))
        }
    }
}
