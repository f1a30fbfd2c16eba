// Several hundred odd requests through the real binary: the MUSTs of RFC 9110 and RFC 9112, smuggling,
// broken and merely unusual messages. The vectors say what each is answered with and what of it
// reaches the upstream.

import Support
import Testing

@Suite(.ownThread) struct `Odd requests` {
    @Test func `are answered and forwarded as their vectors say`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(to: upstream)
        let port = setup.proxy.port
        for vector in OddRequest.all {
            let seen = upstream.requests.count
            let client = try RawClient(to: port)
            // Whoever is refused in the middle is cut off in the middle.
            try? client.send(oddBytes(vector.message, port: port))
            try? client.stream.halfClose()
            let answers = OddRequest.statuses(in: (try? client.stream.readToEnd()) ?? "")
            let forwarded = upstream.requests.dropFirst(seen).map { "\($0.method) \($0.target)" }
            #expect(answers == vector.statuses, "answers to \(vector.name)")
            #expect(
                forwarded == vector.forwarded.map { oddBytes($0).text },
                "forwarded of \(vector.name)"
            )
        }
        // Whatever it was sent, it goes on serving.
        #expect(try setup.proxy.exchange().status == 200)
    }

    @Test func `are many, and have names of their own`() {
        #expect(OddRequest.all.count >= 300)
        #expect(Set(OddRequest.all.map(\.name)).count == OddRequest.all.count)
    }
}

/// One vector of requests.txt.
struct OddRequest {
    var name: String
    /// As the file writes it.
    var message = ""
    /// Of each answer, interim ones left out; empty where the connection only ends.
    var statuses: [String] = []
    /// Method and target of each request that the upstream sees.
    var forwarded: [String] = []

    static let all: [OddRequest] = {
        var vectors: [OddRequest] = []
        for line in vectorLines("requests.txt") where !line.hasPrefix("#") {
            if line.hasPrefix("== ") {
                vectors.append(OddRequest(name: String(line.dropFirst(3))))
            } else if line == "->" || line.hasPrefix("-> ") {
                vectors[vectors.count - 1].expect(line.dropFirst(3))
            } else {
                vectors[vectors.count - 1].message += line
            }
        }
        return vectors
    }()

    /// `200 GET /a; 400`: one item for each answer, with what was forwarded behind it.
    private mutating func expect(_ text: Substring) {
        for item in String(text).components(separatedBy: "; ") where !item.isEmpty {
            statuses.append(String(item.prefix(3)))
            if item.utf8.count > 4 { forwarded.append(String(item.dropFirst(4))) }
        }
    }

    /// The status of every final answer in a stream whose bodies hold no status line.
    static func statuses(in answers: Octets) -> [String] {
        answers.text.components(separatedBy: "HTTP/1.1 ").dropFirst()
            .map { String($0.prefix(3)) }
            .filter { UInt16($0).map { $0 >= 200 } ?? false }
    }
}
