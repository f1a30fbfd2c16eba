// What a route does to a head, compiled at load. Names and values that are kept go out byte for byte
// and in their order; nothing that frames a message or concerns one connection is copied. The
// credential's own line is not written here, so this room never holds one.

import Bytes
package import HTTPWire
import Vocabulary

/// The edits of one route.
package final class HeaderPlan: Sendable {
    /// What a client's head loses; Content-Length and Trailer depend on the message.
    let requestDrops: FieldNameSet
    /// The same for its trailers, where no field of the client's may stand beside the credential's.
    let requestTrailerDrops: FieldNameSet
    let responseDrops: FieldNameSet
    /// The same for an answer that a page may read.
    let pageDrops: FieldNameSet
    /// The upstream's Host line and the fields that the route sets, each with its CR LF.
    let requestLines: [UInt8]
    /// Scheme and authority of the upstream as its Host line has them, for proofs.
    package let targetBase: [UInt8]
    /// How many bytes of the path the route cuts, and what it puts in their place.
    let prefixCount: Int
    let basePath: [UInt8]
    /// "/" means the upstream's own path, which a route without a prefix could not be asked for otherwise: an MCP
    /// server at `/mcp` need not know `/mcp/`.
    let rootIsBasePath: Bool
    let location: LocationRule?
    /// Fields of a response whose URLs are changed.
    let changedURLs: KnownFieldSet
    /// Refusals of this route's API that mean something else than they say.
    package let refusalRules: [RefusalRule]
    let cookies: CookieRule?
    /// Lines for final responses, each with its CR LF.
    let responseLines: [UInt8]
    let callerFields: [CallerField]
    /// The query parameter that carries the credential.
    let parameter: QueryParameter?
    let upgrades: UpgradeRule
    let rules: PathRules?
    let guarded: GuardedPaths?
    private let hasCredential: Bool
    private let clientField: ClientFieldPolicy
    private let credentialField: FieldName?

    init(
        _ spec: RouteSpec, number: Int, guarded: GuardedPaths?, consumedFields: [String]
    ) throws(RouteError) {
        self.guarded = guarded
        var drops = FieldNameSet(KnownFieldSet.hopByHop.union([.host, .expect]))
        drops = drops.with(.trailer, false)
        for name in consumedFields {
            let field = try Self.name(name, number)
            // A body without its length would be read as the next request.
            guard !KnownFieldSet.framing.contains(field.known) else {
                throw .fieldReserved(route: number, name: name)
            }
            drops.insert(field)
        }

        let credential = spec.credential
        hasCredential = credential != nil
        clientField = credential?.clientField ?? .keep
        var own: FieldName?
        parameter = credential?.parameter.flatMap { QueryParameter($0) }
        if let credential, credential.parameter == nil {
            let field = try Self.name(credential.field, number)
            guard !KnownFieldSet.framing.contains(field.known) else {
                throw .fieldReserved(route: number, name: credential.field)
            }
            switch credential.clientField {
            case .replace, .refuse:
                drops.insert(field)
                // A proof of the client's was made for the client's own credential.
                if field.known == .authorization { drops = drops.with(.dpop, true) }
            case .keep:
                if Self.isListed(field, in: consumedFields) {
                    throw .keptFieldMayHoldSecret(route: number, name: credential.field)
                }
            }
            own = field
        }
        credentialField = own

        for name in spec.removedFields {
            let field = try Self.name(name, number)
            guard !Self.irremovable.contains(field.known) else {
                throw .fieldReserved(route: number, name: name)
            }
            drops.insert(field)
        }

        guard spec.hostField.map({ HostAndPort($0) != nil }) ?? true else {
            throw .fieldValueInvalid(route: number, name: "Host")
        }
        let authority = spec.hostField ?? spec.upstream.origin.authority
        targetBase = Array("\(spec.upstream.origin.scheme.rawValue)://\(authority)".utf8)
        var lines = Self.line("Host", authority)
        for (name, value) in spec.setFields {
            let field = try Self.name(name, number)
            guard !Self.unsettable.contains(field.known), field.bytes != own?.bytes,
                !Self.isListed(field, in: consumedFields)
            else { throw .fieldReserved(route: number, name: name) }
            guard FieldValue.isValid(value) else {
                throw .fieldValueInvalid(route: number, name: name)
            }
            drops.insert(field)
            lines += Self.line(name, value)
        }

        callerFields = spec.callerFields
        // Those that a list can be grown by are; the others are said once.
        if callerFields.contains(.xForwardedHost) { drops.insertKnown(.xForwardedHost) }
        if callerFields.contains(.xForwardedProto) { drops.insertKnown(.xForwardedProto) }
        requestDrops = drops
        if let own { drops.insert(own) }
        requestTrailerDrops = drops
        requestLines = lines
        // An alternative service (RFC 7838) is the upstream's, not that of the origin that the
        // client asked, and would lead past the proxy. That an origin speaks TLS only (RFC 6797) is the
        // upstream's to say of itself; a browser would believe it of localhost, whatever listens there.
        var answerDrops = FieldNameSet(
            KnownFieldSet.hopByHop.union([.altSvc, .strictTransportSecurity])
        ).with(.trailer, false)
        var answerLines: [UInt8] = []
        for name in spec.removedResponseFields + spec.setResponseFields.map(\.name) {
            let field = try Self.name(name, number)
            guard !Self.unsettable.contains(field.known) else {
                throw .fieldReserved(route: number, name: name)
            }
            answerDrops.insert(field)
        }
        for (name, value) in spec.setResponseFields {
            guard FieldValue.isValid(value) else {
                throw .fieldValueInvalid(route: number, name: name)
            }
            answerLines += Self.line(name, value)
        }
        responseDrops = answerDrops
        for field in PageAccess.replacedFields { answerDrops.insert(field) }
        pageDrops = answerDrops
        responseLines = answerLines
        cookies = spec.rewritesCookies ? CookieRule(spec) : nil
        prefixCount = PathPrefix.trimmed(spec.path).utf8.count
        basePath = Array(spec.upstream.basePath.utf8)
        rootIsBasePath = prefixCount == 0 && !basePath.isEmpty && !spec.upstream.endsInSlash
        guard let upgrades = UpgradeRule(spec.upgrades) else {
            let name = spec.upgrades.first { UpgradeRule([$0]) == nil }
            throw .upgradeInvalid(route: number, name: name ?? "")
        }
        self.upgrades = upgrades
        rules = try PathRules(allow: spec.allow, deny: spec.deny, route: number)
        location = spec.rewritesLocation ? LocationRule(spec) : nil
        var changed: KnownFieldSet = location == nil ? [] : [.location]
        // An API that repeats the query that it was asked with would tell the credential to the client.
        if parameter != nil {
            changed = changed.union([.location, .contentLocation, .link, .refresh])
        }
        changedURLs = changed
        refusalRules = spec.refusalRules
    }

    private static let irremovable: KnownFieldSet = [.contentLength, .transferEncoding, .host]
    private static let unsettable = KnownFieldSet.hopByHop.union([.host, .contentLength, .expect])

    private static func name(_ text: String, _ number: Int) throws(RouteError) -> FieldName {
        guard let name = FieldName(text) else {
            throw .fieldNameInvalid(route: number, name: text)
        }
        return name
    }

    private static func isListed(_ field: FieldName, in names: [String]) -> Bool {
        names.contains { FieldName($0)?.bytes == field.bytes }
    }

    private static func line(_ name: String, _ value: String) -> [UInt8] {
        Array("\(name): \(value)\r\n".utf8)
    }
}

/// Whether a request may use its route, and how.
package enum RouteVerdict: Hashable, Sendable {
    /// Write it; the credential's line goes behind it only where `withCredential`.
    case forward(withCredential: Bool)
    case refuse(AccessRefusal)
}

extension HeaderPlan {
    /// Judges what depends on the route. Asked before any credential is looked for, and never of a
    /// preflight, which `PageAccess` answers.
    package func judge(
        _ head: borrowing MessageHead, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer
    ) -> RouteVerdict {
        if !basePath.isEmpty, DotSegments.climb(in: rest(of: target, bytes).path) {
            return .refuse(.pathLeavesRoute)
        }
        if let guarded, guarded.mayHold(rest(of: target, bytes).path) {
            return .refuse(.pathAmbiguous)
        }
        if let rules {
            guard target.form != .asterisk else { return .refuse(.methodOrPathNotAllowed) }
            let path = rest(of: target, bytes).path
            if let refusal = rules.judge(head, path: path, bytes) { return .refuse(refusal) }
        }
        guard hasCredential else { return .forward(withCredential: false) }
        switch clientField {
        case .replace: break
        case .keep:
            if carriesCredentialField(head, bytes) { return .forward(withCredential: false) }
        case .refuse:
            if carriesCredentialField(head, bytes) { return .refuse(.clientCredentialRefused) }
        }
        return .forward(withCredential: true)
    }

    /// Whether the client sent a proof without the credential that it would be for: ours goes instead.
    func dropsProof(_ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer) -> Bool {
        head.present.contains(.dpop) && clientField == .keep
            && credentialField?.known == .authorization && !carriesCredentialField(head, bytes)
    }

    /// What becomes of the request's wish for another protocol.
    package func upgrade(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer
    ) -> UpgradeVerdict {
        head.present.contains(.upgrade) ? upgrades.judge(head, bytes) : .none
    }

    private func carriesCredentialField(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
        guard let credentialField else {
            guard let parameter, let query = head.query(in: bytes) else { return false }
            return parameter.occurs(in: query)
        }
        for index in 0..<head.fieldCount where credentialField.matches(head.fields[index], bytes) {
            return true
        }
        return false
    }

    /// What is left of the target when the route's prefix is cut: the path alone, and with its query.
    func rest(
        of target: RequestTarget, _ bytes: UnsafeRawBufferPointer
    ) -> (path: UnsafeRawBufferPointer, whole: UnsafeRawBufferPointer) {
        let path = target.pathAlone(bytes)
        let whole = target.path.bytes(in: bytes)
        let cut = min(prefixCount, path.count)
        return (
            UnsafeRawBufferPointer(rebasing: path[cut...]),
            UnsafeRawBufferPointer(rebasing: whole[cut...])
        )
    }
}
