// A login that has been started, by whatever flow: what a person is told, and what comes of it.

import OAuth
import TokenStore
import Vocabulary

/// What a person types on another device, and where (RFC 8628 section 3.3). Cleaned for showing.
package struct DevicePrompt: Hashable, Sendable {
    package let verificationURI: String
    package let userCode: String
    package let expiresInSeconds: UInt64
}

/// One attempt.
protocol LoginUnderWay: Sendable {
    /// What a person opens; http or https, checked.
    var url: String { get }
    /// The address is good for one use until then; nil where it does not lapse.
    var urlUntil: BootTime? { get }
    /// Nil in a flow that comes back to this machine.
    var device: DevicePrompt? { get }
    /// What the provider gave, stored or not.
    var obtained: Login? { get async }

    /// The login as it was stored, or why there is none.
    func result() async throws(LoginFailure) -> Login
    /// An address that can be opened now.
    func freshURL() async -> String
    /// Takes the URL that a person copied from the browser.
    func paste(_ text: String) async throws(CallbackError)
    func cancel() async
    /// Waits until nothing of it runs any more.
    func close() async
}
