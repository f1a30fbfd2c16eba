// Device authorization (RFC 8628) at real providers: a person approves or refuses at the provider's
// own page, while the command polls.

import Support
import Testing
import Vocabulary

extension `Real provider` {
    /// Django OAuth Toolkit names its device endpoint in no document.
    private func device(_ kind: Provider.Kind) throws -> ProviderWorld {
        let provider = try Provider.shared(kind)
        var lines = ["grant: device_code"]
        if kind == .dot {
            lines.append("device_authorization_endpoint: \(provider.issuer)/device-authorization/")
        }
        return try ProviderWorld(provider, .device, lines: lines)
    }

    /// Starts a login and has the person answer at the address and with the code that it shows.
    private func answer(_ world: ProviderWorld, _ flags: [String]) throws -> CommandResult {
        let login = try world.home.start(
            ["login", "--device", "--config", world.home.configurationFile])
        let (address, code) = try waited(for: "an address and a code") {
            () -> (String, String)? in
            guard login.isRunning else {
                throw Failure.malformed(login.printed(.error).text)
            }
            let lines = login.printed(.output).text.components(separatedBy: "\n")
            let notes = login.printed(.error).text.components(separatedBy: "and enter the code  ")
            guard lines.count > 1, notes.count > 1 else { return nil }
            return (lines[0], notes[1].components(separatedBy: "\n")[0])
        }
        // It is asking already, and is told to wait.
        pause(.milliseconds(1500))
        #expect(login.isRunning)
        let person = try world.person(flags + ["--code", code], at: address)
        #expect(person.status == 0, "\(person.error)")
        return try CommandResult(of: login, within: .seconds(40))
    }

    @Test(arguments: [Provider.Kind.glewlwyd, .nanoidp, .dot])
    func `a code is approved on another device`(kind: Provider.Kind) throws {
        let world = try device(kind)
        let login = try answer(world, [])
        try #require(login.status == 0, "\(login.error)")
        let proxy = try world.home.serve()
        let token = try world.sentToken(proxy)
        if kind == .glewlwyd {
            // Only a token's own client may introspect it there, and a public one may not at all.
            #expect(try world.userinfo(proxy).status == 200)
        } else {
            let facts = try world.provider.introspect(token, as: .service)
            #expect(facts["active"]?.asBool == true, "\(facts)")
            #expect(facts["client_id"]?.asString == "device-cli")
        }
        try world.refresh()
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    /// Glewlwyd's page has no button for it.
    @Test(arguments: [Provider.Kind.nanoidp, .dot])
    func `a code is refused on another device`(kind: Provider.Kind) throws {
        let world = try device(kind)
        let login = try answer(world, ["--deny"])
        #expect(login.status == 4, "\(login.error)")
        #expect(!Files.exists(world.home.loginFile()))
    }
}
