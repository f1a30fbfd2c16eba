// The page on which a person allows or denies, in the house style and without a script.

import LoopbackServer
import Pages

enum ConsentPage {
    /// - Parameters:
    ///   - ticket: names the pending request in the form that the buttons send.
    ///   - returnOrigin: where the form's answer leads; browsers want it named beside the form's
    ///     own target.
    static func reply(
        client: String, person: String, scopes: [String], ticket: String, returnOrigin: String
    ) -> ServerResponse {
        let message = MessagePage(
            .calm, .person, "Allow \(client) to act for you?",
            [
                .text("You are signed in as \(person). It asks for:"), .chips(scopes),
                .choice(
                    .init(
                        action: "/authorize", fields: [("ticket", ticket)], name: "decision",
                        yes: ("Allow", "allow"), no: ("Deny", "deny"))),
                .small(
                    "This is the demo provider of Credential Proxy. It runs on your machine only, knows "
                        + "one person and forgets everything when it stops."),
            ])
        var page = message.page
        page.formTargets = "'self' " + returnOrigin
        return ServerResponse(status: 200, page: page)
    }

    /// A refusal that must not be sent to the address in the request, since that is what is wrong.
    static func refusal(_ reason: String) -> ServerResponse {
        let message = MessagePage(
            .bad, .cross, "This is not a login that we can serve", [.text(reason)])
        return ServerResponse(status: 400, page: message.page)
    }
}
