import Bytes
import LoopbackServer
import OAuth
import Testing
import Vocabulary

@testable import Demo

@Suite struct `Demo identity` {
    private func idToken(_ reply: ServerResponse) throws -> IDToken {
        try IDToken(SecretBytes(try #require(reply.object["id_token"]?.asRevealedString)))
    }

    @Test func `is signed for who asks with openid, and can be checked`() throws {
        let client = try DeskClient(scopes: ["openid", "notes.read"])
        let reply = client.exchange(try client.code(from: client.get("/authorize", client.query)))
        let published = client.get("/keys")
        let keys = try JSONWebKeySet.read(
            InboundResponse(status: published.status, body: SecretBytes(published.body)))
        var policy = IDTokenPolicy(
            issuer: "http://127.0.0.1:1", clientID: "demo-cli", keys: .set(keys))
        policy.nonce = client.request.nonce
        #expect(policy.nonce != nil)
        let token = try idToken(reply)
        try token.validate(policy, now: client.time.wallTime())
        #expect(token.subject == "ada")

        // A refresh brings one without a nonce.
        policy.nonce = nil
        policy.earlier = token
        let refresh = try #require(reply.object["refresh_token"]?.asRevealedString)
        let next = try idToken(client.refresh(refresh))
        try next.validate(policy, now: client.time.wallTime())
        #expect(next.claims["nonce"] == nil)
    }

    @Test func `is not given without openid`() throws {
        let client = try DeskClient()
        let reply = client.exchange(try client.code(from: client.get("/authorize", client.query)))
        #expect(reply.status == 200)
        #expect(reply.object["id_token"] == nil)
    }

    @Test func `is told again to who has a token`() throws {
        let client = try DeskClient(scopes: ["openid"])
        let access = try client.login().access
        func ask(_ value: String) -> ServerResponse {
            client.desk.reply(
                to: ServerRequest(
                    method: "GET", target: "/userinfo", path: "/userinfo",
                    fields: [ServerField("Authorization", value)]))
        }
        #expect(ask("Bearer \(access)").object["sub"]?.asRevealedString == "ada")
        #expect(ask("Bearer other").status == 401)
        #expect(client.get("/userinfo").status == 401)
    }
}
