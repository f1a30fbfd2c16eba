// What `proxy check --online` asks of one provider: who it is, whether a client can be had there, whether
// its keys are to be had, whether the clocks agree. Nothing is registered, and no secret is shown.

import AuthCore
import OAuth
import Vocabulary

extension Inspection {
    /// A clock that is further off than this makes tokens look fresh that are dead.
    private static let clockSecondsMax: Int64 = 60

    func provider(
        _ configured: OAuthSettings, of id: CredentialID, _ discovery: DiscoveryDesk
    ) async -> [Finding] {
        let subject = "provider of \"\(id)\""
        let oauth: OAuthSettings
        let endpoints: Endpoints
        do throws(DiscoveryError) {
            oauth = try await discovery.located(configured, of: id)
            endpoints = try await discovery.endpoints(of: oauth)
        } catch {
            return [Finding(subject, .failed, error.message, hint: error.hint)]
        }
        var findings = [provider(endpoints, oauth, subject)]
        findings.append(await client(oauth, of: id, discovery))
        findings += await keys(endpoints, id)
        switch await answer(endpoints.token) {
        case .failure(let error):
            findings.append(
                Finding(subject, .failed, "no answer from the token endpoint: \(error.words)"))
        case .success(let response): findings += clock(response)
        }
        return findings
    }

    private func provider(
        _ endpoints: Endpoints, _ oauth: OAuthSettings, _ subject: String
    ) -> Finding {
        if endpoints.authorization == nil, oauth.grant == .authorizationCode {
            return Finding(subject, .failed, "its metadata has no authorization_endpoint")
        }
        if oauth.authorization.requiresPKCEMetadata, let metadata = endpoints.metadata,
            !(metadata.codeChallengeMethods ?? []).contains("S256")
        {
            return Finding(
                subject, .failed,
                "its metadata does not say that it takes PKCE S256, without which no MCP login is made",
                hint:
                    "write issuer and client_id without discover: true, if you trust it all the same"
            )
        }
        let discovered = oauth.discoveredFor.map { "gives tokens for \($0); " } ?? ""
        return Finding(subject, .passed, "\(discovered)token endpoint \(endpoints.token)")
    }

    // MARK: The client

    private func client(
        _ oauth: OAuthSettings, of id: CredentialID, _ discovery: DiscoveryDesk
    ) async -> Finding {
        let subject = "client of \"\(id)\""
        let way: ClientWay
        do throws(DiscoveryError) {
            way = try await discovery.wayToClient(oauth)
        } catch {
            return Finding(subject, .failed, error.message, hint: error.hint)
        }
        switch way {
        case .named(let name) where ClientDocument.isURL(name):
            return await document(name, oauth, subject)
        case .document(let url): return await document(url, oauth, subject)
        case .named(let name): return Finding(subject, .passed, "\"\(name)\", as configured")
        case .registered(let name): return Finding(subject, .passed, "\"\(name)\", registered")
        case .registration(let endpoint):
            return Finding(subject, .passed, "will be registered at \(endpoint) by \"proxy login\"")
        }
    }

    /// What servers will read before they let the client in.
    private func document(
        _ url: String, _ oauth: OAuthSettings, _ subject: String
    ) async -> Finding {
        let port = oauth.callbackPort.map { ":\($0)" } ?? ""
        do throws(ClientDocumentError) {
            switch await answer(try ClientDocument.request(url).url) {
            case .failure(let error):
                return Finding(subject, .failed, "\(url) gives no answer: \(error.words)")
            case .success(let response):
                try ClientDocument.check(
                    response, url: url,
                    redirectURI: "http://\(oauth.callbackHost)\(port)\(oauth.callbackPath)")
                return Finding(subject, .passed, "the document \(url) describes it")
            }
        } catch {
            return Finding(
                subject, .failed, "\(url): \(error.message)",
                hint: "correct the document; providers refuse the client as it is")
        }
    }

    // MARK: Keys and clocks

    /// Only who gets ID tokens needs keys.
    private func keys(_ endpoints: Endpoints, _ id: CredentialID) async -> [Finding] {
        guard let metadata = endpoints.metadata, metadata.has(.keys) else { return [] }
        let subject = "keys of \"\(id)\""
        let url: String
        do throws(MetadataError) {
            url = try metadata.url(of: .keys)
        } catch {
            return [Finding(subject, .failed, "the metadata's jwks_uri cannot be used")]
        }
        switch await answer(url) {
        case .failure(let error):
            return [Finding(subject, .failed, "\(url) gives no answer: \(error.words)")]
        case .success(let response):
            guard (try? JSONWebKeySet.read(response)) != nil else {
                return [
                    Finding(
                        subject, .doubtful, "\(url) holds no key set; no ID token can be checked")
                ]
            }
            return [Finding(subject, .passed, url)]
        }
    }

    /// RFC 9110 section 6.6.1: the Date field of an answer is the server's clock.
    private func clock(_ response: InboundResponse) -> [Finding] {
        let now = surroundings.time.wallTime()
        guard let text = response.field("Date"), let theirs = HTTPDate.read(text, now: now) else {
            return []
        }
        let difference = now.seconds - theirs.seconds
        guard abs(difference) > Self.clockSecondsMax else {
            return [Finding("clock", .passed, "agrees with the provider's")]
        }
        let amount = durationText(seconds: abs(difference))
        return [
            Finding(
                "clock", .failed,
                "\(amount) \(difference > 0 ? "ahead of" : "behind") the provider's",
                hint: "set this machine's clock, best with a time service")
        ]
    }
}
