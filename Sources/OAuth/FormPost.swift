// The form that a client posts to a server's endpoint, whatever the endpoint is (RFC 6749 section
// 3.2; RFC 7009, 8628 and 9126 follow it): the request's own parameters, one proof of the client,
// then what the configuration adds. Never a query, and no name twice.

package import Bytes
package import Vocabulary

/// What is added to a request, ready to be sent.
package struct FormAdditions: Sendable {
    package var parameters: [FormParameter]
    package var fields: [OutboundRequest.Field]
    /// Those of the values that no message may repeat.
    package var secrets: [SecretBytes]

    package init(
        parameters: [FormParameter] = [], fields: [OutboundRequest.Field] = [],
        secrets: [SecretBytes] = []
    ) {
        self.parameters = parameters
        self.fields = fields
        self.secrets = secrets
    }
}

/// One request of a client's with a form in its body.
package struct FormPost: Sendable {
    package let endpoint: String
    let parameters: [FormParameter]
    let client: ClientAuthentication
    let additions: FormAdditions

    /// - Parameter additions: those with the name of a parameter or a field that is there already
    ///   are left out, and so are fields that the request itself sets.
    package init(
        endpoint: String, _ parameters: [FormParameter], by client: ClientAuthentication,
        additions: FormAdditions = FormAdditions()
    ) {
        self.endpoint = endpoint
        self.parameters = parameters
        self.client = client
        self.additions = additions
    }

    /// The message to send.
    package func outbound(
        certificate: ClientCertificate? = nil, timeoutMilliseconds: UInt64 = 30_000
    ) -> OutboundRequest {
        let own = parameters + client.parameters
        let names = Set(own.map(\.name))
        let added = additions.parameters.filter { !names.contains($0.name) }
        let fields = additions.fields.filter {
            !RequestAdditions.reservedFields.contains($0.name.lowercased())
        }
        var request = OutboundRequest(
            .post, endpoint,
            fields: [
                .init("Content-Type", "application/x-www-form-urlencoded"),
                .init("Accept", "application/json"),
            ] + client.fields + fields,
            body: FormEncoding.encode(own + added), timeoutMilliseconds: timeoutMilliseconds)
        request.clientCertificate = certificate
        return request
    }

    /// Values that no message may repeat.
    package var secrets: [SecretBytes] { client.secrets + additions.secrets }
}
