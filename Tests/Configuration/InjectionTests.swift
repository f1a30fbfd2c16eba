import Routing
import Testing
import Vocabulary

@testable import Configuration

@Suite struct `Forms of injection` {
    private func text(_ inject: String) -> String {
        """
        upstream: https://api.example.com
        credential: { token: { env: T }, \(inject) }
        """
    }

    @Test func `are read`() throws {
        let query = try settings(text("inject: { query: api_key }"))
        #expect(query.credentials[0].injection.form == .query(name: "api_key"))
        #expect(query.routeSpecs[0].credential?.parameter == "api_key")
        let basic = try settings(text("inject: { basic: svc }"))
        #expect(basic.credentials[0].injection.form == .basic(user: "svc"))
        #expect(basic.credentials[0].injection.prefix == "Basic ")
        #expect(basic.routeSpecs[0].credential?.field == "Authorization")
    }

    @Test(arguments: [
        (
            "inject: { query: 'a b' }",
            "\"a b\" cannot be the name of a query parameter | use letters, digits, - . _ ~"
        ),
        ("inject: { basic: 'a:b' }", "a user of Basic authentication cannot hold a colon"),
        (
            "inject: { basic: a }, header: X",
            "\"header\" does not go with \"inject\" | one of them says how the credential is sent"
        ),
    ])
    func `are refused with the reason`(inject: String, expected: String) {
        let found = problems(text(inject))
        #expect(found.count == 1)
        #expect(found.first?.hasSuffix(expected) == true, "\(found)")
    }

    @Test func `stand beside the other changes of a route`() throws {
        let read = try settings(
            short(
                """
                set_response_headers: { Cache-Control: no-store }
                remove_response_headers: [Server]
                forwarded: [X-Forwarded-For, via]
                rewrite_cookies: true
                """))
        let spec = read.routeSpecs[0]
        #expect(spec.setResponseFields.map(\.name) == ["Cache-Control"])
        #expect(spec.removedResponseFields == ["Server"])
        #expect(spec.callerFields == [.xForwardedFor, .via])
        #expect(spec.rewritesCookies)
        #expect(problems(short("forwarded: [x-real-ip]")).first?.contains("x-real-ip") == true)
        #expect(
            problems(short("remove_response_headers: [Content-Length]")).first?
                .contains("the proxy's own to write") == true)
    }
}
