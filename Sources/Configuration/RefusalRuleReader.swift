// Reads what a route says of its API's refusals. It refuses rules that could never fit a response.

import Routing

struct RefusalRuleReader {
    private let problems: ProblemList

    private static let keys = ["status", "scheme", "error", "then"]

    init(_ problems: ProblemList) { self.problems = problems }

    func rules(_ mapping: MappingReader) -> [RefusalRule] {
        guard let node = mapping.node("refusals") else { return [] }
        guard case .sequence(let items) = node.content else {
            problems.add(
                node.place, "\"refusals\" must be a list, and this is \(node.kind)",
                hint: "write refusals: [{ status: 403, error: token_expired, then: refresh }]")
            return []
        }
        return items.compactMap(rule)
    }

    private func rule(_ node: YAMLNode) -> RefusalRule? {
        guard
            let mapping = MappingReader(node, "a refusal", keys: Self.keys, problems: problems)
        else { return nil }
        for key in ["status", "then"] where !mapping.has(key) {
            mapping.missing(key, hint: "a refusal has a status, and what to do then")
        }
        let status = mapping.integer("status", in: 400...599)
        let action = mapping.choice(
            "then", RefusalRule.Action.allCases.map { ($0.rawValue, $0) })
        let scheme = mapping.name("scheme")?.value.lowercased()
        let error = mapping.name("error")?.value
        guard let status, let action else { return nil }
        return RefusalRule(status: status, scheme: scheme, error: error, action: action)
    }
}
