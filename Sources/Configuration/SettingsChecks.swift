// What parts of a configuration must agree on: names that meet, addresses that may be open, routes
// that do not lead back.

import Routing
import Vocabulary

struct SettingsChecks {
    let problems: ProblemList
    let credentials: [Located<CredentialSettings>]

    /// A listener that others can reach would lend the credential to whoever finds it.
    func checkListeners(_ listen: [Located<ListenerSettings>], hasSecret: Bool) {
        var seen: Set<ListenerSettings.Place> = []
        var repeated: Set<Place> = []
        for address in listen {
            // Port 0 is another one each time.
            if !seen.insert(address.value.place).inserted, address.value.address?.port != 0,
                repeated.insert(address.place).inserted
            {
                problems.add(address.place, "\(address.value) is listed twice")
            }
            if !address.value.isLoopback, !hasSecret {
                problems.add(
                    address.place,
                    "\(address.value) can be reached from other machines, and no local_secret is set",
                    hint: "add local_secret: { file: path }, or listen on 127.0.0.1")
            }
        }
    }

    /// An upstream that is this proxy would call itself until something runs out.
    func checkLoops(_ routes: [ReadRoute], _ listen: [ListenAddress]) {
        for route in routes {
            let origin = route.spec.upstream.origin
            let own = listen.first { address in
                guard address.port == origin.port, address.port != 0 else { return false }
                return address.host == origin.host
                    || origin.isLoopback && (address.isLoopback || address.isWildcard)
                    || address.isWildcard && origin.host == address.host
            }
            guard let own else { continue }
            // 127.0.0.1 and ::1 are two machines' worth of ports; a name may mean either.
            let isOtherFamily =
                own.isLoopback && origin.host != own.host && origin.host != "localhost"
                && !origin.host.hasSuffix(".localhost")
            if isOtherFamily { continue }
            problems.add(
                route.places.upstream, "the upstream \(quoted(origin.description)) is this proxy",
                hint: "give the proxy another port with listen")
        }
    }

    /// The specs with their credentials' slots, and with the general authority where they name none; a
    /// credential's name that nothing has is a problem.
    ///
    /// - Parameter isOneForAll: every route is at every listener, whatever it names.
    func resolved(
        _ routes: [ReadRoute], caFile: String?, listen: [ListenerSettings], isOneForAll: Bool
    ) -> [RouteSpec] {
        routes.map { route in
            var spec = route.spec
            if let names = route.listeners {
                let numbers = numbers(of: names, listen)
                spec.listeners = isOneForAll ? nil : numbers
            }
            spec.caFile = spec.caFile ?? caFile
            guard let name = route.credential else {
                if route.clientField != nil {
                    problems.add(
                        route.places.clientField,
                        "client_authorization needs a credential that the client's could stand against",
                        hint: "the client's fields are passed on where there is none")
                }
                return spec
            }
            guard let slot = credentials.firstIndex(where: { $0.value.id.name == name.value })
            else {
                let names = credentials.map(\.value.id.name)
                let known =
                    names.isEmpty
                    ? "write credentials: { \(name.value): { … } }"
                    : "known credentials: " + names.joined(separator: ", ")
                problems.add(
                    name.place, "no credential named \(quoted(name.value))",
                    hint: nearestName(to: name.value, among: names).map {
                        "did you mean \"\($0)\"?"
                    }
                        ?? known)
                return spec
            }
            let injection = credentials[slot].value.injection
            var parameter: String?
            if case .query(let name) = injection.form { parameter = name }
            spec.credential = RouteCredential(
                slot: CredentialSlot(slot), field: injection.field, parameter: parameter,
                clientField: route.clientField ?? .replace)
            return spec
        }
    }

    /// The listeners that a route names; several may share one name.
    private func numbers(
        of names: [Located<String>], _ listen: [ListenerSettings]
    ) -> Set<Int> {
        var numbers: Set<Int> = []
        for name in names {
            let named = listen.indices.filter { listen[$0].name == name.value }
            if named.isEmpty {
                let known = listen.compactMap(\.name)
                problems.add(
                    name.place, "no listener is named \(quoted(name.value))",
                    hint: nearestName(to: name.value, among: known).map {
                        "did you mean \"\($0)\"?"
                    }
                        ?? "write listen: [{ address: 127.0.0.1:8080, name: \(name.value) }]")
            }
            numbers.formUnion(named)
        }
        return numbers
    }

    /// The compiled routes; nil when they are none, which is then on the list.
    ///
    /// - Parameter areSeparate: the file has listeners for some, and flags put all together.
    func table(
        _ specs: [RouteSpec], places: [ReadRoute.Places], consumedFields: [String],
        listeners: Int, areSeparate: Bool
    ) -> RouteTable? {
        do {
            return try RouteTable(
                specs, consumedFields: consumedFields, listeners: max(listeners, 1))
        } catch {
            describe(error, specs, places, areSeparate: areSeparate)
            return nil
        }
    }

    /// Where a field is set or removed.
    private func place(
        of name: String, _ spec: RouteSpec, _ places: ReadRoute.Places
    ) -> Place {
        if spec.removedFields.contains(name) { return places.removedFields }
        if spec.removedResponseFields.contains(name) { return places.removedResponseFields }
        if spec.setResponseFields.contains(where: { $0.name == name }),
            !spec.setFields.contains(where: { $0.name == name })
        {
            return places.setResponseFields
        }
        return places.setFields
    }

    private func describe(
        _ error: RouteError, _ specs: [RouteSpec], _ places: [ReadRoute.Places],
        areSeparate: Bool
    ) {
        switch error {
        case .overlap(let route, let other):
            let path = specs[route].path.isEmpty ? "/" : specs[route].path
            let host = specs[route].host.map { " at host \(quoted($0))" } ?? ""
            problems.add(
                places[route].path, "two routes have the path \(quoted(path))\(host)",
                hint: "the other is at \(places[other].path)"
                    + (areSeparate ? "; without --listen each is at its own listener" : ""))
        case .hostInvalid(let route, let host):
            problems.add(places[route].host, "\(quoted(host)) is no host name")
        case .pathInvalid(let route, let path):
            problems.add(
                places[route].path, "\(quoted(path)) is no path prefix",
                hint: "begin it with /, leave out dot segments, encode what a URL cannot hold")
        case .fieldNameInvalid(let route, let name):
            problems.add(
                place(of: name, specs[route], places[route]),
                "\(quoted(name)) is no name of a header field")
        case .fieldValueInvalid(let route, let name):
            problems.add(
                name == "Host"
                    ? places[route].hostField : place(of: name, specs[route], places[route]),
                "the value of \(quoted(name)) cannot be sent",
                hint: "leave out control characters and spaces at its ends")
        case .fieldReserved(let route, let name):
            problems.add(
                place(of: name, specs[route], places[route]),
                "the header field \(quoted(name)) is the proxy's own to write",
                hint: name.lowercased() == "host" ? "use host_header" : nil)
        case .upgradeInvalid(let route, let name), .ruleInvalid(let route, let name):
            // The reader has said so already, unless two rooms disagree on what is one.
            problems.add(places[route].route, "\(quoted(name)) cannot be used here")
        case .keptFieldMayHoldSecret(let route, let name):
            problems.add(
                places[route].clientField,
                "the client's \(quoted(name)) is to be kept, and may hold the local secret",
                hint: "choose another field for the secret with local_secret: { header: X-… }")
        }
    }
}
