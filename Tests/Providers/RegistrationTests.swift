// Dynamic registration (RFC 7591) at real providers: a configuration without a client's name.

import Support
import Testing
import Vocabulary

extension `Real provider` {
    /// LemonLDAP::NG registers clients that it then does not know.
    @Test(arguments: [Provider.Kind.glewlwyd, .nanoidp, .dot, .canaille, .authgent])
    func `registers itself, once, and logs in`(kind: Provider.Kind) throws {
        let provider = try Provider.shared(kind)
        let world = try ProviderWorld(
            provider, names: false, lines: ["registration: dynamic"])
        try world.login()
        let name = try #require(try world.record()["client_id"]?.asString)
        #expect(!Provider.Client.allCases.map(\.rawValue).contains(name))
        let proxy = try world.home.serve()
        let token = try world.sentToken(proxy)
        if kind == .glewlwyd || kind == .canaille {
            // Nobody but the client itself may ask there.
            #expect(try world.userinfo(proxy).status == 200)
        } else {
            let facts = try provider.introspect(token, as: .service)
            #expect(facts["active"]?.asBool == true, "\(facts)")
            #expect(facts["client_id"]?.asString == name)
        }
        try world.refresh()
        try world.login()
        #expect(try world.record()["client_id"]?.asString == name)
        try proxy.stop()
        #expect(try world.leaks() == [])
    }
}
