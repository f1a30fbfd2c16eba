// A page as an answer.

package import Pages

extension ServerResponse {
    package init(status: Int, page: HTMLPage, fields: [ServerField] = []) {
        let (text, own) = page.written()
        self.init(
            status: status, text: text, contentType: "text/html; charset=utf-8",
            fields: own.map { ServerField($0.name, $0.value) } + fields)
    }

    /// An answer that leads elsewhere and holds nothing.
    package static func redirect(to location: String, fields: [ServerField] = []) -> ServerResponse
    {
        ServerResponse(
            status: 303,
            fields: HTMLPage.safeFields.map { ServerField($0.name, $0.value) } + fields
                + [
                    ServerField("Referrer-Policy", "no-referrer"),
                    ServerField("Location", location),
                ])
    }
}
