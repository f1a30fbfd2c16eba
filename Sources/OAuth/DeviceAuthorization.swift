// The device authorization grant's messages (RFC 8628): the request for a code, what the server gives
// for it, and what an answer to a poll means. What a person is shown is cleaned, and where they are
// sent is https.

package import Bytes
package import Vocabulary

/// What a person needs in order to consent on another device, and what we poll with.
package struct DeviceAuthorization: Sendable {
    package let deviceCode: SecretBytes
    /// To be typed by a person; cleaned, and short.
    package let userCode: String
    /// Where they type it; https, or http on this machine.
    package let verificationURI: String
    /// The same with the code in it, for whoever can open it at once.
    package let completeURI: String?
    /// From the answer's arrival on.
    package let expiresInSeconds: UInt64
    package let intervalSeconds: UInt64

    /// Section 3.2: in the absence of a value, clients must use 5.
    private static let intervalSecondsDefault: UInt64 = 5
    private static let intervalSecondsMax: UInt64 = 300
    /// For a server that breaks the rule and says nothing.
    private static let expirySecondsAssumed: UInt64 = 300
    /// A day; nobody waits longer.
    private static let expirySecondsMax: UInt64 = 86_400
    private static let userCodeLettersMax = 64

    /// Section 3.1.
    package static func request(
        endpoint: String, scopes: [String], client: ClientAuthentication, additions: FormAdditions
    ) -> FormPost {
        FormPost(endpoint: endpoint, TokenGrant.scope(scopes), by: client, additions: additions)
    }

    /// - Parameter now: the local time, for a Retry-After that names a date.
    /// - Throws: the same verdicts as for a token request (section 3.2).
    package static func read(
        _ response: InboundResponse, to request: FormPost, quirks: ProviderQuirks, now: WallTime
    ) throws(TokenFailure) -> DeviceAuthorization {
        do throws(TokenFailure) {
            let reader = AnswerReader(
                response: response, secrets: request.secrets, now: now, quirks: quirks)
            return try DeviceAuthorization(reader.members(), status: response.status)
        } catch {
            throw error.said(by: "the device authorization endpoint")
        }
    }

    private init(_ members: JSONObject, status: Int) throws(TokenFailure) {
        func text(_ name: String) -> SecretBytes? {
            members[name]?.asSecret.flatMap { $0.isEmpty ? nil : $0 }
        }
        func missing(_ name: String) -> TokenFailure {
            TokenFailure(.malformed, .missingMember(name), status: status)
        }
        func seconds(_ name: String) -> UInt64? {
            members[name].flatMap(TokenResponse.seconds).flatMap { UInt64(exactly: $0) }
        }
        guard let code = text("device_code") else { throw missing("device_code") }
        deviceCode = code
        guard
            let userCode = text("user_code").map({
                DisplayText.clean($0, lettersMax: Self.userCodeLettersMax)
            }),
            !userCode.isEmpty
        else { throw missing("user_code") }
        self.userCode = userCode
        // Google's own name for it came before the RFC's.
        guard let place = text("verification_uri") ?? text("verification_url") else {
            throw missing("verification_uri")
        }
        guard let uri = Self.checked(place) else {
            throw TokenFailure(
                .malformed, .unusableMember("verification_uri", DisplayText.clean(place)),
                status: status)
        }
        verificationURI = uri
        let complete = text("verification_uri_complete") ?? text("verification_url_complete")
        completeURI = complete.flatMap(Self.checked)
        expiresInSeconds = min(
            seconds("expires_in").flatMap { $0 == 0 ? nil : $0 } ?? Self.expirySecondsAssumed,
            Self.expirySecondsMax)
        intervalSeconds = min(
            seconds("interval").flatMap { $0 == 0 ? nil : $0 } ?? Self.intervalSecondsDefault,
            Self.intervalSecondsMax)
    }

    private static func checked(_ text: SecretBytes) -> String? {
        let text = text.withBytes { String(decoding: $0, as: UTF8.self) }
        guard text.utf8.count <= 2048, let url = try? WebURL(text), url.isSecure else { return nil }
        return text
    }
}

/// How long to wait before the next poll (sections 3.4 and 3.5). Pure: time is told, not read.
package struct DevicePolling: Sendable {
    package enum Step: Hashable, Sendable {
        /// Ask again after so long.
        case wait(milliseconds: UInt64)
        /// The code is of no use any more.
        case expired
        /// It ends with this failure.
        case end
    }

    /// Added for good by each `slow_down`.
    static let slowDownMilliseconds: UInt64 = 5000
    /// What a silent network makes of the interval at the most.
    static let backOffMillisecondsMax: UInt64 = 120_000

    private var intervalMilliseconds: UInt64
    /// Polls in a row that got no answer.
    private var silences = 0

    package init(intervalSeconds: UInt64) {
        intervalMilliseconds = intervalSeconds * 1000
    }

    /// The wait before the first poll.
    package var first: UInt64 { intervalMilliseconds }

    /// What a poll that gave no token leads to.
    package mutating func step(after failure: TokenFailure) -> Step {
        if case .code(let code) = failure.reason {
            switch code {
            case "authorization_pending":
                silences = 0
                return .wait(milliseconds: intervalMilliseconds)
            case "slow_down":
                silences = 0
                intervalMilliseconds += Self.slowDownMilliseconds
                return .wait(milliseconds: intervalMilliseconds)
            case "expired_token": return .expired
            default: break
            }
        }
        guard case .transient(let retryAfter) = failure.verdict else { return .end }
        // A server in trouble and a network without an answer: ever less often, and on.
        silences += 1
        let doubled = intervalMilliseconds << UInt64(min(silences, 8))
        let wait = min(max(intervalMilliseconds, Self.backOffMillisecondsMax), doubled)
        let wanted = UInt64(clamping: retryAfter ?? 0).multipliedReportingOverflow(by: 1000)
        return .wait(milliseconds: max(wait, wanted.overflow ? .max : wanted.partialValue))
    }
}
