// How a client that the configuration gives no name comes to one: by a document that describes it, or
// by registering itself. AuthCore does it, once for each provider.

/// What the configuration says of a client that has no `client_id`.
package struct RegistrationSettings: Equatable, Sendable {
    /// How a server is asked.
    package enum Form: String, Sendable {
        /// RFC 7591: JSON to the endpoint that the metadata names.
        case dynamic
        /// Mastodon: a form to `/api/v1/apps`, as its documentation of apps describes.
        case mastodon
    }

    package var form: Form
    /// Shown to people who are asked for their consent.
    package var clientName: String
    /// In place of the one in the provider's metadata.
    package var endpoint: String?
    /// Sent as a bearer token with the request (RFC 7591 section 3).
    package var initialAccessToken: SecretSource?
    /// An https URL that is the client's name at every server that reads such documents (OAuth
    /// Client ID Metadata Document, draft-ietf-oauth-client-id-metadata-document).
    package var documentURL: String?

    package init(form: Form = .dynamic, clientName: String = "Credential Proxy") {
        self.form = form
        self.clientName = clientName
        endpoint = nil
        initialAccessToken = nil
        documentURL = nil
    }
}
