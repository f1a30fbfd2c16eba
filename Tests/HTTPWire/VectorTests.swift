import HTTPWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct `Vectors` {
    @Test(arguments: Vector.load("framing.txt") + Vector.load("heads.txt"))
    func `are read as they say, however they arrive`(vector: Vector) {
        let reading = readHeadInEveryWay(vector.kind, vector.message)
        let outcome: String
        switch reading {
        case .needMore: outcome = "incomplete"
        case .failed(let error): outcome = name(of: error)
        case .complete(let head):
            switch head.framing {
            case .failure(let error): outcome = name(of: error)
            case .success(.none): outcome = "none"
            case .success(.length(let length)): outcome = "length \(length)"
            case .success(.chunked): outcome = "chunked"
            case .success(.untilClose): outcome = "until close"
            }
        }
        #expect(outcome == vector.outcome)
    }

    @Test func `have names of their own`() {
        let names = (Vector.load("framing.txt") + Vector.load("heads.txt")).map(\.name)
        #expect(names.count > 100)
        #expect(Set(names).count == names.count)
    }

    private func name(of error: WireError) -> String {
        String("\(error)".prefix { $0 != "(" })
    }
}

/// One message out of `Tests/Vectors`, whose README.md has the format.
struct Vector: CustomTestStringConvertible {
    var name: String
    var kind: MessageKind
    var message: [UInt8]
    var outcome: String

    var testDescription: String { name }

    static func load(_ file: String) -> [Vector] {
        var folder = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        folder.removeLast(2)
        let path = folder.joined(separator: "/") + "/Vectors/" + file
        var vectors: [Vector] = []
        var current: Vector?
        for line in lines(of: path) {
            if line.hasPrefix("== ") {
                precondition(current == nil, "\(line): the vector before has no outcome")
                current = Vector(
                    name: String(line.dropFirst(3)), kind: .request, message: [], outcome: "")
            } else if line.hasPrefix("-> ") {
                current!.outcome = String(line.dropFirst(3))
                vectors.append(current!)
                current = nil
            } else if line.hasPrefix("response to ") && current?.message.isEmpty == true {
                current!.kind = .response(to: line.hasSuffix(" HEAD") ? .head : .get)
            } else if line != "request" || current?.message.isEmpty != true {
                current?.message += unescaped(line)
            }
        }
        precondition(current == nil && !vectors.isEmpty, "\(path) is not whole")
        return vectors
    }

    private static func lines(of path: String) -> [String] {
        guard let file = fopen(path, "r") else { preconditionFailure("cannot open \(path)") }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = getc(file), byte != EOF { bytes.append(UInt8(byte)) }
        return bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func unescaped(_ line: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = line.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "0"): bytes.append(0)
            case UInt8(ascii: "\\"): bytes.append(0x5C)
            case UInt8(ascii: "x"):
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                bytes.append(UInt8(digits, radix: 16)!)
                rest = rest.dropFirst(2)
            default: preconditionFailure("unknown escape in \(line)")
            }
        }
        return bytes
    }
}
