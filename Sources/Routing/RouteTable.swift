// Finds the route of a request: by host, then by the longest prefix of the path that ends where a
// segment ends. What a look-up costs depends on the length of the longest prefix, not on the number
// of routes.

package import HTTPWire
package import Vocabulary

/// One compiled route.
package struct Route: Sendable {
    /// Its place in `RouteTable.upstreams`.
    package let upstream: Int
    package let credential: CredentialSlot?
    package let plan: HeaderPlan
}

/// Where connections go. Routes with the same origin and trust share one.
package struct Upstream: Hashable, Sendable {
    package let origin: Origin
    /// Certificates to trust in place of the system's, PEM.
    package let caFile: String?
    package let tls: UpstreamTLS?
    package let dialTarget: DialTarget
    package let http2: HTTP2Use
}

/// All routes; immutable. A table that exists is valid. It is a class since constant parts of one can be read
/// without touching the reference counts of what they hold.
package final class RouteTable: Sendable {
    package let routes: [Route]
    /// What people call each route: its host and path prefix, "/" for all.
    package let names: [String]
    package let upstreams: [Upstream]
    /// One for each listener, or one for all.
    private let indexes: [RouteIndex]
    private let specs: [RouteSpec]
    private let consumedFields: [String]
    private let listeners: Int

    /// - Parameters:
    ///   - consumedFields: fields that are meant for the proxy itself and go no further: the local
    ///     secret's and the required one (`AccessGuard.consumedFields`).
    ///   - listeners: how many there are; `RouteSpec.listeners` has their numbers.
    package init(
        _ specs: [RouteSpec], consumedFields: [String] = [], listeners: Int = 1
    ) throws(RouteError) {
        var upstreams: [Upstream] = []
        var places: [Upstream: Int] = [:]
        var routes: [Route] = []
        let guarded = GuardedPaths.all(of: specs)
        for (number, spec) in specs.enumerated() {
            let upstream = Upstream(
                origin: spec.upstream.origin, caFile: spec.caFile, tls: spec.tls,
                dialTarget: DialTarget(
                    spec.upstream.origin, address: spec.address,
                    allowsPrivateAddresses: spec.allowsPrivateAddresses),
                http2: spec.http2)
            let place = places[upstream] ?? upstreams.count
            if place == upstreams.count {
                upstreams.append(upstream)
                places[upstream] = place
            }
            let plan = try HeaderPlan(
                spec, number: number, guarded: guarded[number], consumedFields: consumedFields)
            routes.append(
                Route(upstream: place, credential: spec.credential?.slot, plan: plan))
        }
        var indexes: [RouteIndex] = []
        if specs.allSatisfy({ $0.listeners == nil }) {
            indexes.append(try RouteIndex(specs, for: nil))
        } else {
            for listener in 0..<listeners {
                indexes.append(try RouteIndex(specs, for: listener))
            }
        }
        self.indexes = indexes
        self.listeners = listeners
        self.routes = routes
        names = specs.map { $0.name(besides: specs) }
        self.upstreams = upstreams
        self.specs = specs
        self.consumedFields = consumedFields
    }

    /// An equal table that shares no storage with this one. Each worker takes its own, since a
    /// reference count that two threads change costs three times as much.
    package func unshared() -> RouteTable {
        do {
            return try RouteTable(
                specs, consumedFields: consumedFields, listeners: listeners)
        } catch {
            preconditionFailure("the same routes were valid before: \(error)")
        }
    }

    /// The route of a request, as an index into `routes`. The host of an absolute target counts,
    /// else the Host field's.
    ///
    /// - Parameter listener: the number of the one that it came through.
    package func match(
        _ head: borrowing MessageHead, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer,
        listener: Int = 0
    ) -> Int? {
        let index = indexes[indexes.count == 1 ? 0 : listener]
        var host = UnsafeRawBufferPointer(start: nil, count: 0)
        // Without routes by host, which is the rule, the name need not be read.
        if index.hasHosts {
            let authority =
                target.form == .absolute
                ? target.authority.bytes(in: bytes) : head.value(of: .host, in: bytes)
            host = authority.flatMap { Authority($0)?.host } ?? host
        }
        if target.form == .asterisk { return index.wholeServer(host: host) }
        return index.match(host: host, path: target.pathAlone(bytes))
    }

    /// The route for a host without port, in any case, and a raw path without query. An empty path
    /// is the root's. Of the first listener.
    package func match(host: UnsafeRawBufferPointer, path: UnsafeRawBufferPointer) -> Int? {
        indexes[0].match(host: host, path: path)
    }
}
