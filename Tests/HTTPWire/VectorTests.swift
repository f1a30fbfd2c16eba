import HTTPWire
import Support
import Testing

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
        var vectors: [Vector] = []
        var current: Vector?
        for line in vectorLines(file) {
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
                current?.message += oddBytes(line).bytes
            }
        }
        precondition(current == nil && !vectors.isEmpty, "\(file) is not whole")
        return vectors
    }
}
