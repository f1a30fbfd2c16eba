// JSON as values (RFC 8259). Numbers keep their text and objects their order, so that members which
// nobody here understands survive being read and written. Reading is JSONReader's, writing
// JSONWriter's.

package import Bytes

/// One JSON value.
package enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    /// A string that is never held as `String`: it prints as "[secret]" and is written as any
    /// other string.
    case secret(SecretBytes)
    case array([JSONValue])
    case object(JSONObject)
}

extension JSONValue {
    package var isNull: Bool { self == .null }

    package var asBool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    package var asNumber: JSONNumber? {
        if case .number(let value) = self { value } else { nil }
    }

    /// A plain string; nil for a secret one.
    package var asString: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// A string of either kind, as a secret.
    package var asSecret: SecretBytes? {
        switch self {
        case .secret(let value): value
        case .string(let value): SecretBytes(value)
        case .null, .bool, .number, .array, .object: nil
        }
    }

    /// A string of either kind as text: for members that are known to hold no secret. The copy
    /// cannot be wiped.
    package var asRevealedString: String? {
        switch self {
        case .secret(let value): value.withBytes { String(decoding: $0, as: UTF8.self) }
        case .string(let value): value
        case .null, .bool, .number, .array, .object: nil
        }
    }

    package var asArray: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    package var asObject: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements.map { JSONObject.Member(name: $0.0, value: $0.1) }))
    }
}

/// A JSON number as it was written.
package struct JSONNumber: Hashable, Sendable {
    /// Matches the grammar of RFC 8259 section 6.
    package let text: String

    /// Only JSONReader, which has checked the grammar, gives a text.
    init(checked text: String) { self.text = text }

    package init(_ value: Int64) { text = String(value) }

    /// The number when it is written as an integer and fits.
    package var asInteger: Int64? { Int64(text) }

    /// The number without its fraction, clamped to what fits.
    package var truncated: Int64 { Int64(text) ?? JSONNumber.truncate(Double(text) ?? 0) }

    /// Without its fraction, clamped; not-a-number counts as 0.
    package static func truncate(_ value: Double) -> Int64 {
        if let exact = Int64(exactly: value.rounded(.towardZero)) { return exact }
        return value.isNaN ? 0 : value < 0 ? .min : .max
    }
}

/// The members of a JSON object, in order, each name once.
package struct JSONObject: Equatable, Sendable {
    package struct Member: Equatable, Sendable {
        package let name: String
        package var value: JSONValue

        package init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    package private(set) var members: [Member]

    package init() { members = [] }

    /// Of several members with one name the last stays.
    package init(_ members: [Member]) {
        self.members = []
        for member in members { self[member.name] = member.value }
    }

    /// Only JSONReader, which has refused repeated names, may spare the check.
    init(checked members: [Member]) { self.members = members }

    /// The value of a name, compared byte by byte: `String` would take U+212A for "K".
    /// Setting replaces in place or appends; setting nil removes.
    package subscript(name: String) -> JSONValue? {
        get { members.first { $0.name.isIdentical(to: name) }?.value }
        set {
            guard let index = members.firstIndex(where: { $0.name.isIdentical(to: name) }) else {
                if let newValue { members.append(Member(name: name, value: newValue)) }
                return
            }
            if let newValue {
                members[index].value = newValue
            } else {
                members.remove(at: index)
            }
        }
    }
}

extension String {
    /// Byte-wise equality. `==` takes canonically equivalent texts for equal, which no identifier
    /// of a protocol allows.
    package func isIdentical(to other: String) -> Bool {
        utf8.elementsEqual(other.utf8)
    }
}
