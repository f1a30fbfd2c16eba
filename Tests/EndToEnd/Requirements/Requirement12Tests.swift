// A login made by another process is noticed (peers.md requirement 12; case C089).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 12: outside login noticed` {
    @Test func `within a second, without restart or signal`() throws {
        let setup = try LoginSetup(credential: ["login: manual"])
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().isOurs(503, "login_required"))
        try setup.logIn()
        try waited(for: "the login to be noticed", within: .seconds(1)) {
            try proxy.exchange().status == 200 ? () : nil
        }
        #expect(setup.server.codeRequests.count == 1)
        #expect(setup.server.refreshRequests.isEmpty)
    }

    @Test func `an import too, and a logout`() throws {
        let setup = try LoginSetup(credential: ["login: manual"])
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().status == 503)
        try setup.importLogin()
        try waited(for: "the import to be noticed", within: .seconds(1)) {
            try proxy.exchange().status == 200 ? () : nil
        }
        #expect(try setup.home.run(["logout", "--local"]).status == 0)
        try waited(for: "the logout to be noticed", within: .seconds(1)) {
            try proxy.exchange().status == 503 ? () : nil
        }
    }

    @Test func `also by a proxy that knew its grant to be dead`() throws {
        let setup = try LoginSetup(credential: ["login: manual"])
        try setup.importLogin(expiresIn: -10)
        setup.server.revokeEverything()
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().isOurs(503, "login_required"))
        try setup.importLogin()
        try waited(for: "the login to be noticed", within: .seconds(1)) {
            try proxy.exchange().status == 200 ? () : nil
        }
    }
}
