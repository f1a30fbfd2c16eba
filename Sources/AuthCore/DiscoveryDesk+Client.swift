// Which client we are, and at which server: settings whose gaps are filled by what providers publish
// and by what they registered us as. A login goes by what is true now, everything after it by what
// was true then, since tokens belong to one client at one server.

package import TokenStore
package import Vocabulary

extension DiscoveryDesk {
    /// The settings of a new login: with an issuer or endpoints, a client's name, the scopes to ask
    /// for.
    package func client(
        _ settings: OAuthSettings, of id: CredentialID
    ) async throws(DiscoveryError) -> OAuthSettings {
        settings
    }

    /// The settings of whatever is done with a login: a refresh, a revocation, a look at userinfo.
    package func client(
        _ settings: OAuthSettings, continuing login: Login
    ) async throws(DiscoveryError) -> OAuthSettings {
        settings
    }

    /// The same for a login desk.
    func clientForLogin(
        _ settings: OAuthSettings, of id: CredentialID
    ) async throws(LoginFailure) -> OAuthSettings {
        do throws(DiscoveryError) {
            return try await client(settings, of: id)
        } catch {
            throw .discovery(error)
        }
    }
}

extension TokenEndpoint {
    /// The token endpoint of the client and server that a login belongs to.
    func belonging(to login: Login) async throws(ExchangeError) -> TokenEndpoint {
        var copy = self
        do throws(DiscoveryError) {
            copy.settings = try await discovery.client(settings, continuing: login)
        } catch {
            throw .endpoint(error)
        }
        return copy
    }
}
