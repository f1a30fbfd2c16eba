// Reads heads in the ways that a connection may deliver them, into values that tests can compare.

import Bytes
import HTTPWire
import Testing

/// A parsed head as values of its own.
struct ReadHead: Equatable {
    struct Field: Equatable {
        var name: String
        var value: [UInt8]
        var known: KnownField
        var isNamedByConnection: Bool
        var isTight: Bool
    }

    var method: Method
    var methodText: String
    var target: String
    var minorVersion: UInt8
    var status: Int
    var reason: [UInt8]
    var fields: [Field]
    var length: Int
    var connection: ConnectionOptions
    var persists: Bool
    var expectsContinue: Bool
    var framing: Result<BodyFraming, WireError>
    var requestTarget: Result<RequestTarget, WireError>?

    func values(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map {
            String(decoding: $0.value, as: UTF8.self)
        }
    }
}

enum HeadReading: Equatable {
    case complete(ReadHead)
    case needMore
    case failed(WireError)

    var head: ReadHead? {
        if case .complete(let head) = self { head } else { nil }
    }

    var error: WireError? {
        if case .failed(let error) = self { error } else { nil }
    }

    /// The error of the head or, where the head is whole, that of its framing.
    var anyError: WireError? {
        switch self {
        case .failed(let error): error
        case .needMore: nil
        case .complete(let head):
            if case .failure(let error) = head.framing { error } else { nil }
        }
    }
}

enum MessageKind: Equatable {
    case request
    case response(to: Method)
}

/// Hands a message over in growing runs that end at `cuts` and at last as a whole.
func readHead(
    _ kind: MessageKind, _ message: [UInt8], cuts: [Int] = [], limits: HeadLimits = .standard
) -> HeadReading {
    var parser = HeadParser(limits: limits)
    var head = MessageHead(fieldsMax: limits.fieldsMax)
    for cut in cuts + [message.count] {
        // A fresh copy each time: the bytes of a connection move as its buffer grows.
        let run = Array(message[..<cut])
        let reading = run.withUnsafeBytes { bytes -> HeadReading in
            do throws(WireError) {
                let outcome =
                    kind == .request
                    ? try parser.request(in: bytes, into: &head)
                    : try parser.response(in: bytes, into: &head)
                return outcome == .needMore ? .needMore : .complete(values(head, kind, bytes))
            } catch {
                return .failed(error)
            }
        }
        if reading != .needMore { return reading }
    }
    return .needMore
}

func readHead(
    _ kind: MessageKind, _ message: String, cuts: [Int] = [], limits: HeadLimits = .standard
) -> HeadReading {
    readHead(kind, Array(message.utf8), cuts: cuts, limits: limits)
}

/// Reads a message whole, cut in two at every place and byte by byte; all must agree. Then every
/// truncation: it may ask for more or fail as the whole does, but not succeed.
func readHeadInEveryWay(
    _ kind: MessageKind, _ message: [UInt8], limits: HeadLimits = .standard,
    sourceLocation: SourceLocation = #_sourceLocation
) -> HeadReading {
    let whole = readHead(kind, message, limits: limits)
    for cut in 0...message.count {
        let split = readHead(kind, message, cuts: [cut], limits: limits)
        #expect(split == whole, "cut at \(cut)", sourceLocation: sourceLocation)
    }
    let bytewise = readHead(kind, message, cuts: Array(0...message.count), limits: limits)
    #expect(bytewise == whole, "byte by byte", sourceLocation: sourceLocation)
    for count in 0..<(whole.head?.length ?? message.count) {
        let part = readHead(kind, Array(message[..<count]), limits: limits)
        #expect(
            part == .needMore || part.error != nil && part == whole,
            "truncated to \(count): \(part)", sourceLocation: sourceLocation)
    }
    return whole
}

func readHeadInEveryWay(
    _ kind: MessageKind, _ message: String, limits: HeadLimits = .standard,
    sourceLocation: SourceLocation = #_sourceLocation
) -> HeadReading {
    readHeadInEveryWay(
        kind, Array(message.utf8), limits: limits, sourceLocation: sourceLocation)
}

private func values(
    _ head: borrowing MessageHead, _ kind: MessageKind, _ bytes: UnsafeRawBufferPointer
) -> ReadHead {
    func text(_ range: ByteRange) -> String {
        String(decoding: range.bytes(in: bytes), as: UTF8.self)
    }
    var fields: [ReadHead.Field] = []
    for index in 0..<head.fieldCount {
        let field = head.fields[index]
        fields.append(
            ReadHead.Field(
                name: text(field.name), value: Array(field.value.bytes(in: bytes)),
                known: field.known, isNamedByConnection: field.isNamedByConnection,
                isTight: field.isTight))
        if field.isTight {
            let line = text(field.name) + ": " + text(field.value) + "\r\n"
            #expect(text(field.line) == line)
        }
    }
    var framing: Result<BodyFraming, WireError>
    var requestTarget: Result<RequestTarget, WireError>?
    do throws(WireError) {
        switch kind {
        case .request: framing = .success(try head.requestFraming(in: bytes))
        case .response(let method):
            framing = .success(try head.responseFraming(in: bytes, to: method))
        }
    } catch {
        framing = .failure(error)
    }
    if kind == .request {
        do throws(WireError) {
            requestTarget = .success(try head.requestTarget(in: bytes))
        } catch {
            requestTarget = .failure(error)
        }
    }
    return ReadHead(
        method: head.method, methodText: text(head.methodBytes), target: text(head.target),
        minorVersion: head.minorVersion, status: head.status,
        reason: Array(head.reason.bytes(in: bytes)), fields: fields, length: head.length,
        connection: head.connection, persists: head.persists,
        expectsContinue: head.expectsContinue(in: bytes), framing: framing,
        requestTarget: requestTarget)
}
