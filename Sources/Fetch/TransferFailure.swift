// What a failed transfer means: whose fault it was, and whether the server can have acted on it. The
// two tables here are the only places that read libcurl's codes.

import CCurl
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The facts about a transfer that did not succeed (libcurl-errors(3)).
struct TransferFailure {
    var code: CURLcode
    /// Whether a byte of the request proper can have been sent.
    var hasBegun = false
    var host = ""
    /// The forward proxy on the way, for people.
    var proxy: String?
    /// What the proxy answered to CONNECT, or 0.
    var connectStatus = 0
    /// `errno` of the last failed system call, or 0.
    var systemError: Int32 = 0
    var reason = ""
    var lacksDescriptor = false
}

extension TransferFailure {
    init(_ handle: EasyHandle, _ code: CURLcode, host: String, hop: ForwardProxy.Hop?) {
        self.code = code
        hasBegun = handle.hasBegun
        self.host = host
        proxy = hop?.address
        connectStatus = handle.number(CURLINFO_HTTP_CONNECTCODE)
        systemError = Int32(truncatingIfNeeded: handle.number(CURLINFO_OS_ERRNO))
        reason = handle.reason(code)
        lacksDescriptor = handle.lacksDescriptor && code == CURLE_COULDNT_CONNECT
    }

    private static let noDescriptor = "this proxy has no free file descriptor (ulimit -n)"

    var dialFailure: DialFailure {
        // Nobody else is to blame.
        if lacksDescriptor { return .other(Self.noDescriptor) }
        if let proxyReason { return .forwardProxy(proxyReason) }
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: return .nameNotResolved
        case CURLE_COULDNT_CONNECT where systemError == ECONNREFUSED: return .refused
        case CURLE_COULDNT_CONNECT where systemError != 0:
            return .other(String(cString: strerror(systemError)))
        case CURLE_OPERATION_TIMEDOUT: return .timedOut
        default: return .other(reason)
        }
    }

    var fetchError: FetchError {
        if lacksDescriptor {
            return .other(code: Int32(bitPattern: code.rawValue), reason: Self.noDescriptor)
        }
        if let proxyReason { return .forwardProxyFailed(reason: proxyReason) }
        switch code {
        case CURLE_OPERATION_TIMEDOUT:
            return .timedOut(mayHaveArrived: hasBegun)
        case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE:
            return .brokenOff(mayHaveArrived: hasBegun)
        case _ where isTLS:
            // TLS 1.3 servers may refuse after the first bytes of the request.
            return hasBegun
                ? .brokenOff(mayHaveArrived: true) : .tlsFailed(host: host, reason: reason)
        case CURLE_URL_MALFORMAT where !hasBegun, CURLE_UNSUPPORTED_PROTOCOL where !hasBegun:
            return .invalidURL
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
            return .notHTTP
        case CURLE_COULDNT_RESOLVE_HOST:
            return .nameNotResolved(host: host)
        case CURLE_COULDNT_CONNECT:
            return .connectionRefused(host: host)
        default:
            return .other(code: Int32(bitPattern: code.rawValue), reason: reason)
        }
    }

    /// Set where the forward proxy failed us, and not what lies behind it.
    private var proxyReason: String? {
        guard let proxy, !hasBegun else { return nil }
        // What the proxy said comes first: the code for a refused tunnel changed between releases.
        switch connectStatus {
        case 407: return "\(proxy) wants another user and password"
        case 300...: return "\(proxy) answered CONNECT with \(connectStatus)"
        default: break
        }
        switch code {
        case CURLE_COULDNT_RESOLVE_PROXY: return "the name of \(proxy) cannot be resolved"
        case CURLE_COULDNT_CONNECT: return "cannot connect to \(proxy)"
        case CURLE_PROXY: return "\(proxy): \(reason)"
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_WEIRD_SERVER_REPLY:
            return "\(proxy) broke off"
        default: return nil
        }
    }

    private var isTLS: Bool {
        switch code {
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED:
            true
        default: false
        }
    }
}
