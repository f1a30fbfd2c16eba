// One libcurl transfer and the rules that all of ours obey: no environment, no files of its own, no
// signals, no redirects, no descriptors that a child process could inherit.

import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

import Bytes
import Vocabulary

/// Owns a `CURL` and what it points to. Belongs to the driver's thread.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    /// Set right before the first byte of the request proper may be written; before that nothing
    /// but the connection's making can have failed.
    private(set) var hasBegun = false
    /// No socket could be made since this process, or the machine, has no descriptor left.
    fileprivate(set) var lacksDescriptor = false
    private let message: UnsafeMutablePointer<CChar>
    private var fields: UnsafeMutablePointer<curl_slist>?
    private var knownAddresses: UnsafeMutablePointer<curl_slist>?
    /// Which addresses may be connected to; nil for all.
    private(set) var policy: AddressPolicy?
    /// What it shares with other attempts for the same transfer; nil where it is the only one.
    var race: AddressRace?
    /// libcurl reads it during the transfer.
    private var address: WebAddress?

    init() {
        guard let pointer = curl_easy_init() else { fatalError("out of memory") }
        self.pointer = pointer
        message = .allocate(capacity: Int(CURL_ERROR_SIZE))
        message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        CCurl_set_pointer(pointer, CURLOPT_ERRORBUFFER, message)
        // Without this libcurl installs signal handlers (CURLOPT_NOSIGNAL(3)).
        set(CURLOPT_NOSIGNAL, 1)
        // A transfer that ends while its name is being looked up leaves the look-up behind instead
        // of holding up every other transfer until the resolver gives in (CURLOPT_QUICK_EXIT(3)).
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_TCP_KEEPALIVE, 1)
        // A name that moves is found again this soon, in seconds.
        set(CURLOPT_DNS_CACHE_TIMEOUT, 30)
        // SAFETY: the handle outlives its transfer.
        let context = Unmanaged.passUnretained(self).toOpaque()
        CCurl_set_open_socket(pointer, openSocket)
        CCurl_set_pointer(pointer, CURLOPT_OPENSOCKETDATA, context)
        CCurl_set_pointer(pointer, CURLOPT_PREREQDATA, context)
        CCurl_set_before_request(pointer) { context, _, _, _, _ in
            // SAFETY: the handle outlives its transfer; both are the driver's.
            let handle = Unmanaged<EasyHandle>.fromOpaque(context!).takeUnretainedValue()
            // The request is sent once, whatever number of connections is made for it.
            guard handle.race?.isWon(by: handle) != false else { return CURL_PREREQFUNC_ABORT }
            handle.hasBegun = true
            return CURL_PREREQFUNC_OK
        }
    }

    deinit {
        curl_easy_cleanup(pointer)
        var field = fields
        while let current = field {
            // Fields hold secrets.
            let text = current.pointee.data!
            wipe(UnsafeMutableRawBufferPointer(start: text, count: strlen(text)))
            field = current.pointee.next
        }
        curl_slist_free_all(fields)
        curl_slist_free_all(knownAddresses)
        message.deallocate()
    }

    func set(_ option: CURLoption, _ value: Int) {
        check(CCurl_set_long(pointer, option, value))
    }

    /// libcurl copies the text.
    func set(_ option: CURLoption, _ value: String?) {
        check(CCurl_set_text(pointer, option, value))
    }

    /// Goes through `hop`, or through nothing whatever the environment says.
    func set(_ hop: ForwardProxy.Hop?) {
        // An empty text switches libcurl's own look at the environment off (CURLOPT_PROXY(3),
        // CURLOPT_NOPROXY(3)).
        set(CURLOPT_NOPROXY, "")
        set(CURLOPT_PROXY, hop?.address ?? "")
        guard let hop, let user = hop.user else { return }
        set(CURLOPT_PROXYUSERNAME, user)
        let password = hop.password ?? SecretBytes("")
        withCText(password) { check(CCurl_set_text(pointer, CURLOPT_PROXYPASSWORD, $0)) }
    }

    /// Has every address judged before it is connected to.
    func set(_ policy: AddressPolicy) {
        self.policy = policy
    }

    /// Answers in place of a resolver's (CURLOPT_RESOLVE(3)).
    func set(knownAddresses: [String: [String]], port: UInt16) {
        guard !knownAddresses.isEmpty else { return }
        for (name, addresses) in knownAddresses {
            let text = "\(name):\(port):\(addresses.joined(separator: ","))"
            self.knownAddresses = curl_slist_append(self.knownAddresses, text)
        }
        check(CCurl_set_pointer(pointer, CURLOPT_RESOLVE, self.knownAddresses))
    }

    func set(_ address: WebAddress) {
        self.address = address
        check(CCurl_set_pointer(pointer, CURLOPT_CURLU, UnsafeMutableRawPointer(address.pointer)))
    }

    func set(
        _ function: CURLoption, _ data: CURLoption, _ context: UnsafeMutableRawPointer,
        _ callback: @escaping curl_write_callback
    ) {
        check(CCurl_set_data_callback(pointer, function, callback))
        check(CCurl_set_pointer(pointer, data, context))
    }

    func setTLSContext(
        _ context: UnsafeMutableRawPointer, _ callback: @escaping curl_ssl_ctx_callback
    ) {
        check(CCurl_set_tls_context(pointer, callback))
        check(CCurl_set_pointer(pointer, CURLOPT_SSL_CTX_DATA, context))
    }

    /// Adds a whole line of the request's head, without its end.
    func add(field line: SecretBytes) {
        fields = withCText(line) { curl_slist_append(fields, $0) }
        check(CCurl_set_pointer(pointer, CURLOPT_HTTPHEADER, fields))
    }

    /// An option that this libcurl does not know leaves us without a protection that we rely on.
    private func check(_ code: CURLcode) {
        precondition(code == CURLE_OK, "libcurl is older than 7.87 or out of memory")
    }
}

extension EasyHandle {
    func number(_ info: CURLINFO) -> Int {
        var value = 0
        return CCurl_get_long(pointer, info, &value) == CURLE_OK ? value : 0
    }

    /// The connected socket, still libcurl's.
    var socket: Int32? {
        var socket: curl_socket_t = -1
        return CCurl_get_socket(pointer, &socket) == CURLE_OK && socket >= 0 ? socket : nil
    }

    /// libcurl's own words for a failure, else the general ones for its code. They name hosts and
    /// files, never fields or bodies.
    func reason(_ code: CURLcode) -> String {
        let text = String(cString: message)
        return text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
    }
}

/// Lends a secret as a C string and wipes it.
func withCText<Result>(_ secret: SecretBytes, _ body: (UnsafePointer<CChar>) -> Result) -> Result {
    secret.withBytes { bytes in
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { text in
            for index in 0..<bytes.count { text[index] = CChar(bitPattern: bytes[index]) }
            text[bytes.count] = 0
            defer { wipe(UnsafeMutableRawBufferPointer(text)) }
            return body(UnsafePointer(text.baseAddress!))
        }
    }
}

/// As libcurl would, but closed on exec: we start helper commands and browsers.
private func openSocket(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let address, let context else { return -1 }
    // SAFETY: the handle outlives its transfer; both are the driver's.
    let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
    // The address stands at the end of the structure, whole (CURLOPT_OPENSOCKETFUNCTION(3)).
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return -1 }
    let name = UnsafeRawPointer(address) + offset
    if let policy = handle.policy, !policy.admits(name.assumingMemoryBound(to: sockaddr.self)) {
        return -1
    }
    let bytes = UnsafeRawBufferPointer(start: name, count: Int(address.pointee.addrlen))
    guard handle.race?.hasTried(bytes) != true else { return -1 }
    let descriptor = newSocket(address.pointee)
    if descriptor >= 0 {
        handle.race?.trying(bytes, with: descriptor)
    } else if errno == EMFILE || errno == ENFILE {
        handle.lacksDescriptor = true
    }
    return descriptor
}

private func newSocket(_ address: curl_sockaddr) -> Int32 {
    #if canImport(Glibc)
        return socket(
            address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
    #else
        let descriptor = socket(address.family, address.socktype, address.protocol)
        if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return descriptor
    #endif
}
