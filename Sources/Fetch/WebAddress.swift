// URLs as libcurl reads them: one parser decides where a request goes and performs it, so that the
// two can never differ.

import CCurl
import Vocabulary

/// Owns a parsed `CURLU`.
final class WebAddress {
    let pointer: OpaquePointer
    let origin: Origin

    /// An absolute http or https URL without user information.
    init(_ text: String) throws(FetchError) {
        guard let pointer = curl_url() else { throw .invalidURL }
        let flags = UInt32(CURLU_DISALLOW_USER | CURLU_PATH_AS_IS)
        // libcurl would take "http:///host" for "http://host".
        guard !text.contains(":///"),
            curl_url_set(pointer, CURLUPART_URL, text, flags) == CURLUE_OK,
            let origin = WebAddress.origin(of: pointer)
        else {
            curl_url_cleanup(pointer)
            throw .invalidURL
        }
        self.pointer = pointer
        self.origin = origin
    }

    deinit {
        curl_url_cleanup(pointer)
    }

    private static func origin(of pointer: OpaquePointer) -> Origin? {
        guard let scheme = part(CURLUPART_SCHEME, of: pointer).flatMap(Origin.Scheme.init),
            var host = part(CURLUPART_HOST, of: pointer)?.lowercased(), !host.isEmpty,
            let port = part(CURLUPART_PORT, of: pointer, CURLU_DEFAULT_PORT).flatMap(UInt16.init),
            port > 0
        else { return nil }
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        return Origin(scheme: scheme, host: host, port: port)
    }

    /// One part of a parsed URL, or nil where it has none.
    static func part(_ part: CURLUPart, of pointer: OpaquePointer, _ flags: Int32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(pointer, part, &text, UInt32(flags)) == CURLUE_OK, let text else {
            return nil
        }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
