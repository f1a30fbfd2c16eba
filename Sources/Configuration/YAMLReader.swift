// Turns the events of libyaml into a tree. It refuses what a configuration never needs and an attack
// does: great size, depth, aliases that multiply, keys that occur twice, several documents, tags.

import CYAML

/// Limits of a configuration file.
enum YAMLLimits {
    static let bytesMax = 1 << 20
    static let depthMax = 32
    /// Every alias written out.
    static let nodesMax = 100_000
}

/// Reads one document.
struct YAMLReader: ~Copyable {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let file: String?
    private let input: [UInt8]
    private var anchors: [String: YAMLNode] = [:]
    private var nodeCount = 0

    private init(file: String?, _ input: [UInt8]) {
        self.file = file
        self.input = input
        parser = .allocate(capacity: 1)
        precondition(yaml_parser_initialize(parser) == 1, "libyaml is out of memory")
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

    /// The root of the only document; nil when there is none or it holds nothing.
    static func read(
        _ bytes: [UInt8], file: String?
    ) throws(ConfigurationProblem) -> YAMLNode? {
        guard bytes.count <= YAMLLimits.bytesMax else {
            throw ConfigurationProblem(
                Place(file: file, spot: .file), "the file is larger than 1MiB",
                hint: "is it the right one? a configuration has a few kilobytes")
        }
        guard !bytes.isEmpty else { return nil }
        let result = bytes.withUnsafeBufferPointer { buffer in
            Result { () throws(ConfigurationProblem) in
                var reader = YAMLReader(file: file, bytes)
                yaml_parser_set_input_string(reader.parser, buffer.baseAddress, buffer.count)
                return try reader.document()
            }
        }
        return try result.get()
    }

    private mutating func document() throws(ConfigurationProblem) -> YAMLNode? {
        var root: YAMLNode?
        while true {
            let event = try nextEvent()
            switch event.kind {
            case .documentStart:
                if root != nil {
                    throw ConfigurationProblem(
                        event.place, "a second document begins here",
                        hint: "one file holds one: take out this and what follows")
                }
            case .streamEnd:
                return root.flatMap { $0.isNull ? nil : $0 }
            case .other: continue
            case .alias, .scalar, .sequenceStart, .mappingStart, .end:
                root = try node(event, depth: 1)
            }
        }
    }

    private mutating func node(
        _ event: Event, depth: Int
    ) throws(ConfigurationProblem) -> YAMLNode {
        guard depth <= YAMLLimits.depthMax else {
            throw ConfigurationProblem(
                event.place, "nested deeper than \(YAMLLimits.depthMax) levels",
                hint: "check the indentation and the brackets before")
        }
        let node: YAMLNode
        switch event.kind {
        case .alias(let name):
            guard let target = anchors[name] else {
                throw ConfigurationProblem(
                    event.place, "no anchor named \(quoted(name))",
                    hint: "put a value that begins with * in quotes")
            }
            try count(target.weight, event.place)
            return target
        case .scalar(let text, let isPlain):
            try count(1, event.place)
            node = YAMLNode(event.place, .scalar(text, isPlain: isPlain))
        case .sequenceStart:
            try count(1, event.place)
            node = YAMLNode(event.place, .sequence(try items(depth)))
        case .mappingStart:
            try count(1, event.place)
            node = YAMLNode(event.place, .mapping(try entries(depth)))
        case .documentStart, .streamEnd, .end, .other:
            preconditionFailure("libyaml's grammar has a node here")
        }
        // Known only now, so that a node cannot contain itself.
        if let anchor = event.anchor { anchors[anchor] = node }
        return node
    }

    private mutating func items(_ depth: Int) throws(ConfigurationProblem) -> [YAMLNode] {
        var items: [YAMLNode] = []
        while true {
            let event = try nextEvent()
            if case .end = event.kind { return items }
            items.append(try node(event, depth: depth + 1))
        }
    }

    private mutating func entries(
        _ depth: Int
    ) throws(ConfigurationProblem) -> [YAMLNode.Entry] {
        var entries: [YAMLNode.Entry] = []
        var places: [String: Place] = [:]
        while true {
            let event = try nextEvent()
            if case .end = event.kind { return entries }
            let key = try node(event, depth: depth + 1)
            guard case .scalar(let name, _) = key.content else {
                throw ConfigurationProblem(
                    event.place, "a key must be a name, and this is \(key.kind)",
                    hint: "write name: value")
            }
            if let earlier = places.updateValue(event.place, forKey: name) {
                throw ConfigurationProblem(
                    event.place, "the key \(quoted(name)) occurs twice",
                    hint: "it occurred first at \(earlier)")
            }
            let value = try node(try nextEvent(), depth: depth + 1)
            entries.append(.init(key: name, place: event.place, value: value))
        }
    }

    private mutating func count(_ nodes: Int, _ place: Place) throws(ConfigurationProblem) {
        nodeCount += nodes
        guard nodeCount <= YAMLLimits.nodesMax else {
            throw ConfigurationProblem(
                place, "more than \(YAMLLimits.nodesMax) values, aliases written out",
                hint: "write out what aliases repeat")
        }
    }
}

extension YAMLReader {
    /// An event of libyaml's, copied out.
    private struct Event {
        enum Kind {
            case documentStart, streamEnd
            case alias(String)
            case scalar(String, isPlain: Bool)
            case sequenceStart, mappingStart
            /// Of a sequence or mapping.
            case end
            case other
        }

        let kind: Kind
        let place: Place
        var anchor: String?
    }

    private func nextEvent() throws(ConfigurationProblem) -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw syntaxProblem() }
        defer { yaml_event_delete(&event) }
        let place = place(event.start_mark)
        switch event.type {
        case YAML_DOCUMENT_START_EVENT: return Event(kind: .documentStart, place: place)
        case YAML_STREAM_END_EVENT: return Event(kind: .streamEnd, place: place)
        case YAML_ALIAS_EVENT:
            let name = Self.text(event.data.alias.anchor) ?? ""
            return Event(kind: .alias(name), place: place)
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            try refuseTag(scalar.tag, ["str", "int", "bool", "null", "float"], place)
            guard let start = scalar.value else {
                return Event(kind: .scalar("", isPlain: true), place: place)
            }
            let text = String(
                decoding: UnsafeBufferPointer(start: start, count: scalar.length), as: UTF8.self)
            let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE && scalar.tag == nil
            return Event(
                kind: .scalar(text, isPlain: isPlain), place: place,
                anchor: Self.text(scalar.anchor))
        case YAML_SEQUENCE_START_EVENT:
            try refuseTag(event.data.sequence_start.tag, ["seq"], place)
            return Event(
                kind: .sequenceStart, place: place,
                anchor: Self.text(event.data.sequence_start.anchor))
        case YAML_MAPPING_START_EVENT:
            try refuseTag(event.data.mapping_start.tag, ["map"], place)
            return Event(
                kind: .mappingStart, place: place,
                anchor: Self.text(event.data.mapping_start.anchor))
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT:
            return Event(kind: .end, place: place)
        default: return Event(kind: .other, place: place)
        }
    }

    /// Only the tags of YAML's core schema, and only where they change nothing.
    private func refuseTag(
        _ tag: UnsafeMutablePointer<yaml_char_t>?, _ allowed: [String], _ place: Place
    ) throws(ConfigurationProblem) {
        guard let tag = Self.text(tag) else { return }
        let isAllowed = tag == "!" || allowed.contains { tag == "tag:yaml.org,2002:" + $0 }
        if !isAllowed {
            throw ConfigurationProblem(
                place, "the tag \(quoted(tag)) means nothing here",
                hint: "put a value that begins with ! in quotes")
        }
    }

    private func syntaxProblem() -> ConfigurationProblem {
        let mark = parser.pointee.problem_mark
        let reason = parser.pointee.problem.map { String(cString: $0) } ?? "this is no YAML"
        if parser.pointee.error == YAML_READER_ERROR {
            return ConfigurationProblem(
                place(ofByte: parser.pointee.problem_offset), reason,
                hint: "save the file as UTF-8 text")
        }
        var hint: String?
        if let context = parser.pointee.context {
            let start = parser.pointee.context_mark
            hint = "\(String(cString: context)) at line \(start.line + 1)"
        }
        // The last that fits is the most exact.
        for (part, remedy) in Self.remedies where reason.contains(part) { hint = remedy }
        return ConfigurationProblem(place(mark), reason, hint: hint)
    }

    /// What people get wrong, by what libyaml says of it.
    private static let remedies = [
        ("did not find expected", "check the indentation, and that each bracket is closed"),
        (
            "did not find expected node content",
            "put values with brackets in quotes, such as \"[::1]:8080\""
        ),
        (
            "cannot start any token",
            "indent with spaces, not with tabs; put values with special characters in quotes"
        ),
        (
            "mapping values are not allowed",
            "check the indentation, and that a space follows each colon before"
        ),
    ]

    /// Bytes are counted where there are no characters yet.
    private func place(ofByte offset: Int) -> Place {
        let before = input.prefix(offset)
        let line = before.lastIndex(of: 0x0A).map { before[($0 + 1)...] } ?? before
        return Place(
            file: file,
            spot: .position(
                line: before.count(where: { $0 == 0x0A }) + 1, column: line.count + 1))
    }

    private func place(_ mark: yaml_mark_t) -> Place {
        Place(file: file, spot: .position(line: mark.line + 1, column: mark.column + 1))
    }

    private static func text(_ bytes: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        bytes.map { String(cString: $0) }
    }
}
