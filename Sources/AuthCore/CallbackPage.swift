// The few pages that a browser sees at the end of a login or a log-out: words of our own, in the house
// style, without a script or anything that came in a URL, and nothing that a browser may keep.

import LoopbackServer
import Pages

/// One page.
struct CallbackPage: Sendable {
    let status: Int
    private let message: MessagePage
    /// Where the browser goes next, once everything is done. No redirect: the provider's own page may
    /// hold a form's redirects to what it knows, which is this callback and nothing behind it.
    private var target: String?

    private init(_ status: Int, _ message: MessagePage) {
        self.status = status
        self.message = message
    }

    private init(_ status: Int, _ heading: String, _ text: String) {
        self.init(status, MessagePage(.calm, .cross, heading, [.text(text)]))
    }

    /// - Parameter target: the page to go back to; nil where there is none.
    static func loggedIn(to name: String, returningTo target: String?) -> CallbackPage {
        let end: MessagePage.Part =
            target.map { .links([("Back to the status page", $0)]) }
            ?? .text("You can close this page.")
        var page = CallbackPage(
            200,
            MessagePage(
                .good, .check, "Logged in",
                [.text("The proxy has the login of \(name) now."), end]))
        page.target = target
        return page
    }

    /// - Parameter reason: why the login could not be written.
    static func loggedInUnwritten(to name: String, _ reason: String) -> CallbackPage {
        CallbackPage(
            200,
            MessagePage(
                .good, .check, "Logged in, not written",
                [
                    .text(
                        "The proxy has the login of \(name), and writes it once it can. You can close this page."
                    ),
                    .small("It could not be written: \(reason)."),
                ]))
    }

    static let loggedOut = CallbackPage(
        200,
        MessagePage(
            .good, .check, "Logged out",
            [.text("The login is forgotten, here and at the provider. You can close this page.")]))
    static let ignoredLogout = CallbackPage(
        400, "Ignored", "The log-out is still waiting: this answer belongs to another one.")
    static let nothingHere = CallbackPage(404, "Not here", "There is no page at this address.")
    /// An answer to a browser that looks ahead; it will come again.
    static let tooEarly = CallbackPage(503, "Not yet", "Open this page to finish the login.")
    static let over = CallbackPage(
        400, "No login", "This login is over. Start another one where you started this one.")
    static let wrongMethod = CallbackPage(405, "Not possible", "This page can only be opened.")

    static func notHere(expectedPath: String) -> CallbackPage {
        CallbackPage(
            404, "Not here",
            "The login's callback is at the path \(expectedPath). If the provider sent you here, its "
                + "redirect URI is registered differently.")
    }

    /// A message that is not this login's answer; the login goes on.
    static func ignored(_ reason: String) -> CallbackPage {
        CallbackPage(400, "Ignored", "The login is still waiting: \(reason).")
    }

    /// - Parameters:
    ///   - command: starts another login.
    ///   - target: the page that started this one, if a page did.
    static func failed(_ reason: String, command: String, backTo target: String?) -> CallbackPage {
        let again: [MessagePage.Part] =
            target.map { [.links([("Back to the status page", $0)])] }
            ?? [
                .text("Start another one where you started this one, or in a terminal:"),
                .command(command),
            ]
        return CallbackPage(
            200,
            MessagePage(
                .bad, .cross, "Login failed",
                [
                    .text(reason.prefix(1).uppercased() + reason.dropFirst() + "."),
                    .small(unchanged),
                ]
                    + again))
    }

    private static let unchanged = "What was there before the login is as it was."

    var response: ServerResponse {
        var page = message.page
        if let target { page.next = (target, 0) }
        return ServerResponse(
            status: status, page: page,
            fields: status == 405 ? [ServerField("Allow", "GET")] : [])
    }
}
