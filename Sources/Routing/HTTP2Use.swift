// Whether an upstream is spoken to in HTTP/2.

import Vocabulary

package enum HTTP2Use: String, Sendable {
    /// Over TLS whatever the upstream prefers (RFC 9113 section 3.2); else HTTP/1.1.
    case auto
    /// Always, with prior knowledge where there is no TLS (section 3.3).
    case on
    case off
}

extension Upstream {
    /// What is offered in TLS (RFC 7301).
    package var protocols: [String] {
        switch http2 {
        case .auto: ["h2", "http/1.1"]
        case .on: ["h2"]
        case .off: ["http/1.1"]
        }
    }

    /// Whether a connection may turn out to be one of HTTP/2.
    package var maySpeakHTTP2: Bool {
        switch http2 {
        case .auto: origin.scheme == .https
        case .on: true
        case .off: false
        }
    }
}
