// Every answer that the proxy makes itself, and the one table from what went wrong to its status, its
// stable code and its words. Nothing else in this room invents a status. Texts are fixed: neither a
// library's message nor a client's input is repeated.

import Bytes
import Crypto
import HTTPWire
import Routing
import Vocabulary
import Crossing

/// Why the proxy answers itself.
enum LocalReply {
    case badRequest(WireError)
    case access(AccessRefusal)
    case routeNotFound
    case credential(Refusal)
    case dial(DialFailure)
    case upstreamTLS(String)
    case upstreamRefusedTLS(alert: UInt8)
    case upstreamClosed
    case upstreamMalformed
    case upstreamRefused
    case upgradeRefused
    case requestTimeout
    case upstreamRequestTimeout
    case upstreamResponseTimeout
    case credentialTimeout
    case tooManyWaiting
}

/// What a reply says, before it is written (RFC 9457; RFC 9209).
struct ReplyText {
    var status: Int
    /// Stable; programs may depend on it.
    var code: StaticString
    var title: StaticString
    var detail: String
    /// RFC 9209 section 2.3; nil where the proxy itself refuses.
    var proxyError: StaticString?
    var hint: String?
    var loginURL: String?
    var userCode: String?
    var command: String?
    var retryAfterSeconds: Int?

    init(
        _ status: Int, _ code: StaticString, _ title: StaticString, _ detail: String,
        _ proxyError: StaticString? = nil, hint: String? = nil
    ) {
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.proxyError = proxyError
        self.hint = hint
    }
}

extension LocalReply {
    /// The table.
    var text: ReplyText {
        switch self {
        case .badRequest(let error): Self.text(of: error)
        case .access(let refusal): Self.text(of: refusal)
        case .routeNotFound:
            ReplyText(
                404, "route_not_found", "No route",
                "no route of the proxy's configuration matches this path",
                hint: "compare the path with \"routes\" in the configuration file")
        case .credential(let refusal): Self.text(of: refusal)
        case .dial(let failure): Self.text(of: failure)
        case .upstreamTLS(let reason):
            ReplyText(
                502, "upstream_tls_failed", "The API's certificate was refused",
                "the TLS connection to the API could not be made: \(reason)",
                "tls_certificate_error",
                hint: "if the API has a private authority, name its certificate with \"ca_file\"")
        case .upstreamRefusedTLS(let alert):
            ReplyText(
                502, "upstream_tls_failed", "The API refused the TLS connection",
                "the TLS connection to the API could not be made: "
                    + TLSError.refusedByPeer(alert: alert).reason,
                "tls_alert_received",
                hint: Self.concernsCertificate(alert)
                    ? "if the API asks for a client certificate, name one with "
                        + "\"tls: { certificate, key }\" of the route" : nil)
        case .upstreamClosed:
            ReplyText(
                502, "upstream_closed", "The API closed the connection",
                "the API closed the connection before it answered; the request may have been processed",
                "connection_terminated")
        case .upstreamMalformed:
            ReplyText(
                502, "upstream_malformed", "The API's answer is not valid HTTP",
                "the API's answer breaks the rules of HTTP/1.1 and was not passed on",
                "http_protocol_error")
        case .upstreamRefused:
            ReplyText(
                502, "upstream_refused", "The API refused the request",
                "the API refused the request, and its route keeps back what the API says",
                hint: "see \"refusals\" of the route")
        case .upgradeRefused:
            ReplyText(
                502, "upgrade_refused", "The API did not change the protocol",
                "the API answered as if no other protocol had been asked for",
                hint: "compare the path with what the API offers by WebSocket")
        case .requestTimeout:
            ReplyText(
                408, "request_timeout", "The request did not come whole",
                "the client stopped sending the body of its request, and nothing came for too long",
                hint: "raise \"timeouts.client_body\" if the client means to pause")
        case .upstreamRequestTimeout:
            ReplyText(
                504, "upstream_timeout", "The API did not take the request in time",
                "the API stopped reading the request, and did not answer it",
                "connection_write_timeout",
                hint: "raise \"timeouts.response_head\" if the API is slow")
        case .upstreamResponseTimeout:
            ReplyText(
                504, "upstream_timeout", "The API did not answer in time",
                "the API took the request and did not begin an answer in time",
                "http_response_timeout", hint: "raise \"timeouts.response_head\" if the API is slow"
            )
        case .credentialTimeout:
            Self.retryable(
                ReplyText(
                    503, "credential_timeout", "No credential in time",
                    "the proxy could not get a fresh credential in time",
                    "http_request_denied"), after: 5)
        case .tooManyWaiting:
            Self.retryable(
                ReplyText(
                    503, "too_many_waiting", "Too many requests wait",
                    "too many requests wait for a credential or a connection",
                    "connection_limit_reached"), after: 1)
        }
    }

    /// Whether a server that wants a certificate of ours, or another one, may say so with this alert (RFC 8446
    /// section 6.2): handshake_failure, bad_certificate to unknown_ca, access_denied, certificate_required.
    private static func concernsCertificate(_ alert: UInt8) -> Bool {
        switch alert {
        case 40, 42...46, 48, 49, 116: true
        default: false
        }
    }

    private static func retryable(_ text: ReplyText, after seconds: Int) -> ReplyText {
        var text = text
        text.retryAfterSeconds = seconds
        return text
    }

    private static func text(of error: WireError) -> ReplyText {
        if error.isTooLarge {
            return ReplyText(
                431, "head_too_large", "The request's head is too large",
                "the request's head exceeds the proxy's limit",
                hint: "raise \"limits.head\" or \"limits.fields\" if the client needs it")
        }
        if error == .unsupportedVersion {
            return ReplyText(
                505, "version_not_supported", "Version not supported",
                "the proxy speaks HTTP/1.0 and HTTP/1.1 here")
        }
        return ReplyText(
            400, "bad_request", "Malformed request",
            "the request breaks the rules of HTTP/1.1 (\(error)) and was not passed on")
    }

    private static func text(of refusal: AccessRefusal) -> ReplyText {
        switch refusal {
        case .methodNotSupported:
            ReplyText(
                405, "method_not_supported", "Method not supported",
                "the proxy passes on neither CONNECT nor TRACE")
        case .hostInvalid:
            ReplyText(
                400, "bad_request", "Malformed request",
                "the request's Host is no host and port and was not passed on")
        case .hostNotAllowed:
            ReplyText(
                421, "host_not_allowed", "Host not allowed",
                "the request's Host is not a name of this proxy",
                hint: "use localhost or add the name to \"allowed_hosts\"")
        case .originNotAllowed:
            ReplyText(
                403, "origin_not_allowed", "Origin not allowed",
                "a page of that origin may not use this proxy",
                hint: "add the origin to \"allowed_origins\" if the page is yours")
        case .crossSite:
            ReplyText(
                403, "origin_not_allowed", "Cross-site request",
                "another site's page caused this request (Sec-Fetch-Site)",
                hint: "add its origin to \"allowed_origins\" if the page is yours")
        case .requiredFieldMissing:
            ReplyText(
                403, "required_field_missing", "Required field missing",
                "the request lacks the field that the configuration demands (\"require_header\")")
        case .localSecretRequired:
            ReplyText(
                401, "local_secret_required", "Local secret required",
                "callers of this proxy must present its local secret",
                hint: "send it as \"Authorization: Bearer …\" or in the API key field")
        case .clientCredentialRefused:
            ReplyText(
                403, "client_credential_refused", "Credential of the client's refused",
                "the route refuses requests that bring a credential of their own")
        case .upgradeNotAllowed:
            ReplyText(
                403, "upgrade_not_allowed", "Upgrade not allowed",
                "the route does not pass on the protocol that the request asks to change to",
                hint: "add the protocol to \"upgrades\" of the route")
        case .methodOrPathNotAllowed:
            ReplyText(
                403, "method_or_path_not_allowed", "Method or path not allowed",
                "the route's rules do not allow this method with this path",
                hint: "compare it with \"allow\" and \"deny\" of the route")
        case .pathAmbiguous:
            ReplyText(
                403, "method_or_path_not_allowed", "Ambiguous path",
                "there are rules for such paths, and this one could be read in more than one way",
                hint: "send it without encoded or doubled slashes, dot segments, \";\" and \"\\\"")
        case .pathLeavesRoute:
            ReplyText(
                400, "path_leaves_route", "Path leaves the route",
                "the dot segments of the path lead out of the route's base path")
        }
    }

    private static func text(of refusal: Refusal) -> ReplyText {
        switch refusal {
        case .loginRequired(let url, let userCode, let command, let seconds):
            var text = ReplyText(
                503, "login_required", "Login required",
                "the proxy has no usable login for this API", "http_request_denied",
                hint: "run: \(command)")
            text.loginURL = url
            text.userCode = userCode
            text.command = command
            text.retryAfterSeconds = seconds
            return text
        case .loginDenied(let command):
            var text = ReplyText(
                503, "login_denied", "Login denied", "the login was refused or cancelled",
                "http_request_denied", hint: "run: \(command)")
            text.command = command
            return text
        case .tokenEndpointUnreachable(let seconds):
            return retryable(
                ReplyText(
                    503, "token_endpoint_unreachable", "The authorization server does not answer",
                    "the credential has expired and the token endpoint cannot be reached or is "
                        + "failing; the login is kept", "http_request_denied"), after: seconds)
        case .credentialMisconfigured(let hint, let seconds):
            return retryable(
                ReplyText(
                    503, "credential_misconfigured", "The credential is misconfigured",
                    "the authorization server refuses this client as it is configured",
                    "proxy_configuration_error", hint: hint), after: seconds)
        case .credentialUnavailable(let hint):
            return ReplyText(
                503, "credential_unavailable", "No credential",
                "the configured source has no usable credential", "proxy_configuration_error",
                hint: hint)
        }
    }

    private static func text(of failure: DialFailure) -> ReplyText {
        switch failure {
        case .nameNotResolved:
            ReplyText(
                502, "upstream_unreachable", "The API cannot be reached",
                "the API's name could not be resolved", "dns_error")
        case .addressNotAllowed:
            ReplyText(
                502, "upstream_address_refused", "The API's name leads elsewhere",
                "the API's name resolved to a private, link-local or metadata address only",
                "destination_ip_prohibited",
                hint: "if the API is inside your network, set \"allow_private_addresses: true\"")
        case .refused:
            ReplyText(
                502, "upstream_unreachable", "The API cannot be reached",
                "the API refused the connection", "connection_refused")
        case .timedOut:
            ReplyText(
                504, "upstream_timeout", "The API cannot be reached",
                "the connection to the API was not made in time", "connection_timeout")
        case .forwardProxy(let reason):
            ReplyText(
                502, "forward_proxy_failed", "The forward proxy failed",
                "the forward proxy did not connect to the API: \(reason)", "proxy_internal_error",
                hint: "check \"forward_proxy\" or the variables HTTPS_PROXY and NO_PROXY; it must "
                    + "allow CONNECT to the API's port, for http as well")
        case .other(let reason):
            ReplyText(
                502, "upstream_unreachable", "The API cannot be reached",
                "the connection to the API could not be made: \(reason)", "destination_unavailable")
        }
    }

}

extension ReplyText {
    /// Writes the whole response.
    ///
    /// - Parameters:
    ///   - isPage: whether a person reads it in a browser.
    ///   - origin: of the page that asked and may read it; empty for none.
    func write(
        closes: Bool, omitsBody: Bool, isPage: Bool, origin: UnsafeRawBufferPointer,
        into output: inout ByteBuffer
    ) {
        var body = ByteBuffer(capacity: 512)
        HeadWriter.appendStatusLine(status, into: &output)
        if isPage {
            writePage(into: &body, fields: &output)
        } else {
            writeProblem(into: &body)
            output.append(
                "Content-Type: application/problem+json\r\nCache-Control: no-store\r\n"
                    as StaticString)
            output.append("X-Content-Type-Options: nosniff\r\n")
        }
        output.append("Content-Length: ")
        output.append(decimal: UInt64(body.count))
        output.append("\r\n")
        if !origin.isEmpty { PageAccess.writeFields(origin, into: &output) }
        output.append("Proxy-Status: credential-proxy")
        if let error = proxyError {
            output.append("; error=")
            output.append(error)
        } else {
            output.append("; error=http_request_denied")
        }
        output.append("; details=\"")
        output.append(code)
        output.append("\"\r\n")
        if let seconds = retryAfterSeconds {
            output.append("Retry-After: ")
            output.append(decimal: UInt64(max(0, seconds)))
            output.append("\r\n")
        }
        if status == 401 {
            output.append("WWW-Authenticate: Bearer realm=\"credential-proxy\"\r\n")
        }
        if status == 405 {
            output.append("Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n")
        }
        if closes { output.append("Connection: close\r\n") }
        output.append("\r\n")
        if !omitsBody { output.append(body.bytes) }
    }

    /// A problem document (RFC 9457 section 3); "about:blank" is the type when there is none.
    func writeProblem(into output: inout ByteBuffer) {
        output.append("{\"status\":")
        output.append(decimal: UInt64(status))
        add("code", code.description, into: &output)
        add("title", title.description, into: &output)
        add("detail", detail, into: &output)
        add("hint", hint, into: &output)
        add("login_url", loginURL, into: &output)
        add("user_code", userCode, into: &output)
        add("command", command, into: &output)
        output.append("}\n")
    }

    private func add(_ name: StaticString, _ value: String?, into output: inout ByteBuffer) {
        guard let value else { return }
        output.append(",\"")
        output.append(name)
        output.append("\":\"")
        for byte in value.utf8 {
            switch byte {
            case 0x22, 0x5C:
                output.append(0x5C)
                output.append(byte)
            case 0..<0x20, 0x7F:
                output.append("\\u00")
                if byte < 0x10 { output.append(ASCII.zero) }
                output.append(hexadecimal: UInt64(byte))
            default: output.append(byte)
            }
        }
        output.append("\"")
    }
}
