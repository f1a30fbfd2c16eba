import Bytes
import Crossing
import Crypto
import Routing
import Support
import Testing
import Vocabulary

@testable import DataPlane

/// A bound credential, as the control plane hands it out.
private func update(
    _ token: String, _ generation: UInt64, _ key: SigningKey
) -> CredentialUpdate {
    CredentialUpdate(
        slot: CredentialSlot(0), generation: Generation(generation),
        line: SecretBytes("Authorization: DPoP \(token)\r\n"), usableUntil: nil,
        binding: .init(
            key: key.stored, accessTokenHash: ProofSigner.accessTokenHash(SecretBytes(token))))
}

/// An API that takes one token with a good proof, and a worker before it.
private struct World {
    let check: ProofCheck
    let api: FakeUpstream
    let plane: TestPlane
    let key = SigningKey.generate(.es256)

    init(
        nonceUses: Int? = nil, accepts token: String = "token-1",
        settings: WorkerSettings = .init(),
        path: String = "", clientField: ClientFieldPolicy = .replace
    ) throws {
        let check = ProofCheck("rs", nonceUses: nonceUses)
        api = try FakeUpstream(answering: { request in
            let url = "http://\(request.value("Host") ?? "")\(request.path)"
            var response: FakeResponse
            do throws(ProofCheck.Refusal) {
                let sent = (request.value("Authorization") ?? "").components(separatedBy: " ")
                let isDPoP = sent.count == 2 && sent[0] == "DPoP"
                try check.check(request, url: url, accessToken: isDPoP ? sent[1] : nil)
                response = isDPoP && sent[1] == token ? .ok() : .refusal("invalid_token")
            } catch {
                response = .refusal(error.code)
            }
            response.fields += check.fields
            return response
        })
        self.check = check
        let key = key
        plane = try TestPlane(
            upstream: api.url + path, token: nil, settings: settings, clientField: clientField
        ) { generation, shared in
            let next = generation.count + 1
            shared.post(.credential(update("token-\(next)", next, key)))
        }
        plane.post(.credential(update("token-1", 1, key)))
    }
}

@Suite struct `A request with a proof` {
    @Test(arguments: ["/", "/a%2Fb", "/a//b/%7E;x=1", "/x?y=/z?", "/caf%C3%A9?q"])
    func `names the raw target without its query (F73)`(target: String) throws {
        let world = try World(path: "/base")
        let answer = try world.plane.client().exchange("GET", target)
        #expect(answer.status == 200)
        let sent = try #require(world.api.requests.first)
        #expect(sent.target == (target == "/" ? "/base" : "/base\(target)"))
        #expect(world.check.proofs.count == 1)
        // A port of its own is part of the name.
        #expect(sent.value("Host") == "127.0.0.1:\(world.api.port)")
    }

    @Test(arguments: [
        (
            "https://api.example.com/v1", "GET /v1/a%2Fb?c=d HTTP/1.1",
            "https://api.example.com/v1/a%2Fb"
        ),
        ("http://[::1]:8443", "POST / HTTP/1.1", "http://[::1]:8443/"),
        ("https://api.example.com:444", "OPTIONS * HTTP/1.1", "https://api.example.com:444"),
        ("https://[2001:db8::1]", "M-SEARCH /?a?b HTTP/1.1", "https://[2001:db8::1]/"),
    ])
    func `verifies, whatever the upstream is called (F73)`(
        upstream: String, line: String, target: String
    ) throws {
        let key = SigningKey.generate(.es256)
        let binding = try #require(update("AT", 1, key).binding)
        let maker = try #require(ProofMaker(binding))
        let url = try UpstreamURL(upstream)
        let table = try RouteTable([RouteSpec(upstream: url)])
        var output = ByteBuffer()
        let head = Array("\(line)\r\nHost: x\r\n".utf8)
        head.withUnsafeBytes {
            maker.write(
                for: $0, base: table.routes[0].plan.targetBase, upstream: url.origin, into: &output)
        }
        let field = String(decoding: output.bytes, as: UTF8.self)
        #expect(field.hasPrefix("DPoP: ") && field.hasSuffix("\r\n"))
        let proof = try ReadProof(String(field.dropFirst(6).dropLast(1)))
        #expect(proof.text("htu") == target)
        #expect(proof.text("htm") == line.components(separatedBy: " ")[0])
        #expect(
            proof.text("ath") == Base64.encode(Digest.sha256(Array("AT".utf8)), .url))
        #expect(proof.thumbprint == key.thumbprint)
    }

    @Test func `carries ours in the place of the client's (F93)`() throws {
        let world = try World()
        let answer = try world.plane.client().exchange(
            fields: [("DPoP", "theirs"), ("dpop", "another"), ("Authorization", "DPoP theirs")])
        #expect(answer.status == 200)
        #expect(try #require(world.api.requests.first).values("DPoP").count == 1)
    }

    @Test func `carries the client's with the client's own credential, and else none of it (F93)`()
        throws
    {
        let world = try World(clientField: .keep)
        let client = try world.plane.client()
        _ = try client.exchange(fields: [("DPoP", "theirs"), ("Authorization", "DPoP theirs")])
        #expect(try client.exchange(fields: [("DPoP", "theirs")]).status == 200)
        let requests = world.api.requests
        #expect(requests[0].values("DPoP") == ["theirs"])
        #expect(requests[0].values("Authorization") == ["DPoP theirs"])
        #expect(requests[1].values("DPoP").count == 1)
        #expect(requests[1].values("DPoP") != ["theirs"])
    }

    @Test func `is proven anew each time, with the newest nonce of a 200 (F74)`() throws {
        let world = try World(nonceUses: 1)
        let client = try world.plane.client()
        for _ in 0..<5 {
            let answer = try client.exchange("POST", "/x", body: "the body")
            #expect(answer.status == 200)
        }
        // Each nonce is good once and the next comes with the answer: only the first is retried.
        #expect(world.api.requests.count == 6)
        #expect(Set(world.check.proofs.map(\.identifier)).count == 5)
        #expect(world.api.requests.allSatisfy { $0.body == "the body" })
        #expect(world.plane.needs.isEmpty)
        #expect(world.plane.reports.isEmpty)
    }

    @Test func `learns nonces from good answers and then needs no retry (F74)`() throws {
        let world = try World(nonceUses: 1000)
        let client = try world.plane.client()
        for _ in 0..<3 { #expect(try client.exchange().status == 200) }
        #expect(world.api.requests.count == 4)
        // The server replaces its nonce: the next request learns it.
        world.check.turn()
        #expect(try client.exchange().status == 200)
        #expect(world.api.requests.count == 6)
    }

    @Test func `is not tried twice for a nonce (F74)`() throws {
        let upstream = try FakeUpstream(answering: { request in
            var response = FakeResponse.refusal("use_dpop_nonce")
            response.fields.append(("DPoP-Nonce", "n\(UInt64.random(in: 0 ... .max))"))
            return response
        })
        let plane = try TestPlane(upstream: upstream.url, token: nil)
        plane.post(.credential(update("token-1", 1, SigningKey.generate(.es256))))
        let answer = try plane.client().exchange()
        #expect(answer.status == 401)
        #expect(answer.has("WWW-Authenticate"))
        #expect(upstream.requests.count == 2)
        #expect(plane.needs.isEmpty)
    }

    @Test func `that is refused for an old token goes out with the next and a proof of it`() throws
    {
        let world = try World(nonceUses: 1000, accepts: "token-2")
        #expect(try world.plane.client().exchange().status == 200)
        // Without a nonce, with one, with the next token.
        #expect(world.api.requests.count == 3)
        #expect(world.plane.needs.count == 1)
        #expect(Set(world.check.proofs.map(\.thumbprint)) == [world.key.thumbprint])
    }

    @Test func `whose body is gone hands the refusal on; the next has the nonce (F68, F74)`() throws
    {
        let world = try World(nonceUses: 1000)
        let client = try world.plane.client()
        let body = Octets.pattern(count: (1 << 20) + 1)
        let refused = try client.exchange("POST", "/up", body: body)
        #expect(refused.status == 401)
        #expect(refused.value("Proxy-Status") == "credential-proxy; details=\"not_replayed\"")
        #expect(try client.exchange("POST", "/up", body: body).status == 200)
        #expect(world.plane.needs.isEmpty)
    }

    @Test func `that is called wrong is handed on and reported with the server's date`() throws {
        let upstream = try FakeUpstream(answering: { request in
            var response = FakeResponse.refusal("invalid_dpop_proof")
            response.fields.append(("Date", "Sun, 06 Nov 1994 08:49:37 GMT"))
            return response
        })
        let plane = try TestPlane(upstream: upstream.url, token: nil)
        plane.post(.credential(update("token-1", 1, SigningKey.generate(.es256))))
        #expect(try plane.client().exchange().status == 401)
        #expect(upstream.requests.count == 1)
        #expect(plane.needs.isEmpty)
        let report = try #require(plane.reports.first)
        #expect(report.error == "invalid_dpop_proof")
        #expect(report.date == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}

@Suite struct `A maker of proofs` {
    private let key = SigningKey.generate(.es256)
    private let one = Origin(scheme: .https, host: "one.example", port: 443)
    private let two = Origin(scheme: .https, host: "two.example", port: 443)

    private func maker() throws -> ProofMaker {
        let binding = try #require(update("AT", 1, key).binding)
        return try #require(ProofMaker(binding))
    }

    private func note(_ nonce: String, _ upstream: Origin, _ maker: ProofMaker) {
        Array(nonce.utf8).withUnsafeBytes { maker.note($0, from: upstream) }
    }

    private func nonce(_ upstream: Origin, _ maker: ProofMaker) throws -> String? {
        var output = ByteBuffer()
        Array("GET / HTTP/1.1\r\n".utf8).withUnsafeBytes {
            maker.write(for: $0, base: Array("https://x".utf8), upstream: upstream, into: &output)
        }
        let field = String(decoding: output.bytes, as: UTF8.self)
        return try ReadProof(String(field.dropFirst(6).dropLast(1))).text("nonce")
    }

    @Test func `keeps nonces by upstream and never crosses them (F74)`() throws {
        let maker = try maker()
        #expect(maker.turn(for: one) == 0)
        note("n1", one, maker)
        #expect(try nonce(one, maker) == "n1")
        #expect(try nonce(two, maker) == nil)
        let turn = maker.turn(for: one)
        note("n2", two, maker)
        note("n1", one, maker)
        #expect(maker.turn(for: one) == turn)
        note("n3", one, maker)
        #expect(maker.turn(for: one) != turn)
        #expect(try nonce(one, maker) == "n3")
        #expect(try nonce(two, maker) == "n2")
    }

    @Test func `keeps no nonce that is none, and not too many`() throws {
        let maker = try maker()
        for bad in ["", "a b", "a\"b", "a\\b", "\u{e9}", String(repeating: "x", count: 513)] {
            note(bad, one, maker)
        }
        #expect(try nonce(one, maker) == nil)
        note("first", one, maker)
        for number in 0..<64 {
            note("n", Origin(scheme: .https, host: "\(number).example", port: 443), maker)
        }
        #expect(try nonce(one, maker) == nil)
    }

    @Test func `goes on with another token, and not with another key (F84)`() throws {
        let maker = try maker()
        #expect(maker.renew(try #require(update("AT2", 2, key).binding)))
        let other = try #require(update("AT3", 3, SigningKey.generate(.es256)).binding)
        #expect(!maker.renew(other))
        #expect(ProofMaker(.init(key: SecretBytes("junk"), accessTokenHash: [])) == nil)
        let wrong = SigningKey.generate(.edDSA).stored
        #expect(ProofMaker(.init(key: wrong, accessTokenHash: [])) == nil)
    }

    @Test func `whose key cannot be read lets nothing out without a proof`() throws {
        var view = CredentialView(count: 1)
        view.install(
            CredentialUpdate(
                slot: CredentialSlot(0), generation: Generation(1),
                line: SecretBytes("Authorization: DPoP AT\r\n"), usableUntil: nil,
                binding: .init(key: SecretBytes("junk"), accessTokenHash: [])))
        #expect(
            view.offer(CredentialSlot(0), now: BootTime(milliseconds: 0)) == .missing(Generation(1))
        )
    }
}
