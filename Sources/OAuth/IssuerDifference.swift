// What somebody probably meant whose issuer is not the provider's: a mismatch is never forgiven, and
// nearly always one of a few slips.

import Vocabulary

package enum IssuerDifference {
    /// What to do about it, in words; nil where nothing is known to help.
    package static func hint(expected: String, received: String) -> String? {
        if let range = received.firstRange(of: tenant) {
            let example =
                received[..<range.lowerBound] + "TENANT-ID" + received[range.upperBound...]
            return "it serves many tenants: write your own, issuer: \(example)"
        }
        guard (try? WebURL(received)) != nil else { return nil }
        if withoutSlash(expected).isIdentical(to: withoutSlash(received)) {
            return received.hasSuffix("/")
                ? "add the slash at the end: issuer: \(received)"
                : "leave out the slash at the end: issuer: \(received)"
        }
        if withoutScheme(expected).utf8.elementsEqual(withoutScheme(received).utf8) {
            return received.hasPrefix("https:")
                ? "write https: issuer: \(received)"
                : "the provider takes itself for an http:// one; its own configuration is at fault"
        }
        if expected.lowercased().isIdentical(to: received.lowercased()) {
            return "write it in the same letters: issuer: \(received)"
        }
        return "if that is the provider that you mean, write issuer: \(received)"
    }

    /// The same issuer with, or without, the slash of an empty path, which mean the same to every reader
    /// of URLs (RFC 3986 section 6.2.3); nil where its path says more.
    package static func otherRootSpelling(of issuer: String) -> String? {
        guard let url = try? WebURL(issuer) else { return nil }
        let base = String(url.textBeforePath)
        if issuer.isIdentical(to: base) { return base + "/" }
        return issuer.isIdentical(to: base + "/") ? base : nil
    }

    /// Whether two differ in nothing else.
    package static func isOnlyRootSlash(_ one: String, _ other: String) -> Bool {
        one.isIdentical(to: other) || otherRootSpelling(of: one)?.isIdentical(to: other) ?? false
    }

    /// What Microsoft Entra writes in place of a tenant's id.
    package static let tenant = "{tenantid}"

    /// Whether a text is an issuer with "{tenantid}" in place of one whole part of its path.
    package static func isTemplate(_ text: String, of issuer: String) -> Bool {
        let (parts, others) = (text.split(separator: "/"), issuer.split(separator: "/"))
        guard parts.count == others.count, parts.count > 2,
            let place = parts.firstIndex(where: { $0 == tenant }), place >= 2
        else { return false }
        return filled(text, tenant: String(others[place]))?.isIdentical(to: issuer) ?? false
    }

    /// A template with its tenant; nil where the text is no template or the tenant could be more
    /// than a name.
    package static func filled(_ template: String, tenant id: String) -> String? {
        guard let range = template.firstRange(of: tenant), (1...128).contains(id.utf8.count),
            id.utf8.allSatisfy({
                ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 || $0 == 0x2D || $0 == 0x2E
            }), id != ".", id != ".."
        else { return nil }
        return template.replacingCharacters(range, id)
    }

    private static func withoutSlash(_ text: String) -> String {
        text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private static func withoutScheme(_ text: String) -> Substring {
        text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...]
    }
}

extension String {
    fileprivate func replacingCharacters(_ range: Range<Index>, _ text: String) -> String {
        String(self[..<range.lowerBound]) + text + String(self[range.upperBound...])
    }
}
