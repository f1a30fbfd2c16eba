// What the pages can ask of the proxy that they show. Whoever runs the proxy stands behind it; this room
// knows nobody else.

package import Pages

/// Facts, and the few things that a person can do.
package protocol AdminDesk: Sendable {
    func facts() async -> StatusFacts

    /// Counters in the text format of Prometheus; nil where nothing is counted.
    func metrics() async -> String?

    /// Starts a login in the browser that asks.
    ///
    /// - Parameters:
    ///   - returnURL: where the browser goes after a login that succeeded; nil leaves it at the callback.
    ///   - ended: called once, if the login was started, with what came of it.
    func logIn(
        to name: String, returnURL: String?, ended: @escaping @Sendable (Notice) -> Void
    ) async -> LoginStart

    func refresh(_ name: String) async -> Notice

    /// Forgets the login and revokes its tokens.
    ///
    /// - Parameter ended: called once with what came of it, unless that is the result already.
    func logOut(
        of name: String, ended: @escaping @Sendable (Notice) -> Void
    ) async -> LogoutStart

    /// Ends the proxy as SIGTERM does; nil where nobody may ask for it here.
    var quit: (@Sendable () -> Void)? { get }
}

/// What a person is told once.
package struct Notice: Hashable, Sendable {
    package var tone: Tone
    /// A sentence, with its full stop.
    package var text: String
    /// What may help.
    package var hint: String?

    package init(_ tone: Tone, _ text: String, hint: String? = nil) {
        self.tone = tone
        self.text = text
        self.hint = hint
    }
}

package enum LoginStart: Sendable {
    /// The provider's page, for this browser.
    case page(url: String)
    /// A code to type at an address, for any browser; good for so many seconds.
    case code(url: String, userCode: String, seconds: Int64)
    case failed(Notice)
}

package enum LogoutStart: Sendable {
    case ended(Notice)
    /// It goes on at the provider's page, for this browser.
    case page(url: String)
}
