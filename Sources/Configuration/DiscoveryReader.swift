// Reads how a client finds its provider and its own name there, where the configuration leaves them
// open: from what the API says of itself, and by registering.

import Routing
import Vocabulary

struct DiscoveryReader {
    let mapping: MappingReader
    let problems: ProblemList
    let paths: PathResolver

    static let keys = ["discover", "registration"]
    static let registrationKeys = [
        "form", "client_name", "endpoint", "initial_access_token", "document",
    ]

    /// Stands in an endpoint's place until the routes are known.
    static let upstreamOfRoute = ""

    /// The resource to ask, or nil where none is to be asked. An empty text stands for the upstream of
    /// the route.
    func resource(for grant: GrantReader.Kind) -> String? {
        guard let text = mapping.name("discover") else { return nil }
        if !grant.needsPerson, text.value != "false" {
            problems.add(
                text.place, "only a credential that people log in to can be discovered",
                hint: "write the issuer")
            return nil
        }
        if text.value.contains("://") {
            guard let url = try? WebURL(text.value), url.isSecure, url.fragment == nil else {
                problems.add(
                    text.place, "\(quoted(text.value)) is no https:// URL of an API",
                    hint: "write discover: true for the upstream's own")
                return nil
            }
            return text.value
        }
        guard mapping.bool("discover") ?? false else { return nil }
        for key in ["authorization_endpoint", "token_endpoint"] where mapping.has(key) {
            problems.add(
                mapping.place(of: key), "\(quoted(key)) is given, and discover asks the API",
                hint: "leave one of them out")
        }
        return Self.upstreamOfRoute
    }

    /// What is said of registering; the default where it must be done and nothing is said.
    func registration(
        for grant: GrantReader.Kind, isDiscovered: Bool,
        endpoint checked: (Located<String>) -> String?
    ) -> RegistrationSettings? {
        guard mapping.has("registration") else {
            return isDiscovered && !mapping.has("client_id") ? RegistrationSettings() : nil
        }
        if !grant.needsPerson {
            problems.add(
                mapping.place(of: "registration"),
                "only a client that people log in to can register itself",
                hint: "register it at the provider, and write its client_id")
        }
        if mapping.has("client_id") {
            problems.add(
                mapping.place(of: "registration"),
                "a client that has a client_id is registered already",
                hint: "leave one of them out")
        }
        guard let node = mapping.node("registration") else { return nil }
        guard case .mapping = node.content else {
            // `registration: mastodon` says the form alone.
            return mapping.choice("registration", Self.forms).map { RegistrationSettings(form: $0) }
        }
        guard
            let own = MappingReader(
                node, "\"registration\"", keys: Self.registrationKeys, problems: problems)
        else { return nil }
        var settings = RegistrationSettings(form: own.choice("form", Self.forms) ?? .dynamic)
        if let name = own.name("client_name") { settings.clientName = name.value }
        settings.endpoint = own.name("endpoint").flatMap(checked)
        if let node = own.node("initial_access_token") {
            settings.initialAccessToken = SecretReader(problems, paths)
                .source(node, "initial_access_token")
        }
        settings.documentURL = own.name("document").flatMap(document)
        return settings
    }

    private static let forms = [
        (word: "dynamic", value: RegistrationSettings.Form.dynamic),
        (word: "mastodon", value: RegistrationSettings.Form.mastodon),
    ]

    private func document(_ text: Located<String>) -> String? {
        guard let url = try? WebURL(text.value), url.origin.scheme == .https, url.fragment == nil,
            url.path.utf8.count > 1
        else {
            problems.add(
                text.place,
                "\(quoted(text.value)) is no https:// URL with a path, as a client's document needs",
                hint: "publish the document, and write its address")
            return nil
        }
        return text.value
    }
}

extension SettingsChecks {
    /// The credentials with the upstreams of their routes where they are to be asked. What one API
    /// says is good for that API, so there can be only one.
    func discovered(
        _ routes: [ReadRoute]
    ) -> [Located<CredentialSettings>] {
        credentials.map { credential in
            guard case .oauth(var oauth) = credential.value.kind,
                case .discovered(let resource, let issuer) = oauth.endpoints
            else { return credential }
            let own = routes.filter { $0.credential?.value == credential.value.id.name }
            var settings = credential.value
            if resource == DiscoveryReader.upstreamOfRoute {
                let upstreams = Set(own.map { $0.spec.upstream.description })
                guard let upstream = upstreams.first, upstreams.count == 1 else {
                    // Routes that were not read are a problem already.
                    if upstreams.count > 1 || own.isEmpty && !routes.isEmpty {
                        problems.add(
                            credential.place,
                            upstreams.isEmpty
                                ? "discover: true needs an API, and no route has this credential"
                                : "discover: true needs one API, and \(upstreams.count) have this "
                                    + "credential",
                            hint: "write discover: https://…, or a credential for each")
                    }
                    return credential
                }
                oauth.endpoints = .discovered(resource: upstream, issuer: issuer)
            } else if let url = try? WebURL(resource) {
                for route in own where route.spec.upstream.origin != url.origin {
                    problems.add(
                        route.places.upstream,
                        "its credential is for \(quoted(url.origin.description)), another server",
                        hint: "write a credential of its own for each API")
                }
            }
            settings.kind = .oauth(oauth)
            return Located(value: settings, place: credential.place)
        }
    }
}
