// A YAML document as a tree of texts, lists and mappings, each with its place. Values stay texts:
// what they mean is for whoever reads the key to say.

/// One node.
struct YAMLNode {
    enum Content {
        /// `isPlain`: written without quotes, so that `null` and `~` mean nothing.
        case scalar(String, isPlain: Bool)
        case sequence([YAMLNode])
        case mapping([Entry])
    }

    struct Entry {
        let key: String
        let place: Place
        let value: YAMLNode
    }

    let place: Place
    let content: Content
    /// How many nodes it consists of when every alias is written out.
    let weight: Int

    init(_ place: Place, _ content: Content) {
        self.place = place
        self.content = content
        weight =
            switch content {
            case .scalar: 1
            case .sequence(let items): items.reduce(1) { $0 + $1.weight }
            case .mapping(let entries): entries.reduce(1) { $0 + 1 + $1.value.weight }
            }
    }

    /// Whether nothing is written here (YAML 1.2 section 10.2.1.1).
    var isNull: Bool {
        guard case .scalar(let text, isPlain: true) = content else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// What it is, for a message.
    var kind: String {
        switch content {
        case .scalar: isNull ? "nothing" : "a value"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }
}

extension YAMLNode {
    static func text(_ text: String, _ place: Place) -> YAMLNode {
        YAMLNode(place, .scalar(text, isPlain: false))
    }
}
