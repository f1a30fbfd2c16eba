// One request of the control plane's as a libcurl transfer: what is set, what is gathered, what it
// comes to.

import Bytes
import CCurl
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// SAFETY: what changes belongs to the driver's thread, which alone calls these methods and runs
// libcurl's callbacks; the initialiser has returned by then.
final class RequestTransfer: Transfer, @unchecked Sendable {
    /// How long name, connection and TLS may take at most.
    private static let connectMillisecondsMax: UInt64 = 10_000

    private let request: OutboundRequest
    private let proxy: ForwardProxy
    private let caFile: String?
    private let trust: SharedTrust?
    private let known: [String: [String]]
    private let race = AddressRace()
    private let done: @Sendable (Result<InboundResponse, FetchError>) -> Void

    private var address: WebAddress?
    private var hop: ForwardProxy.Hop?
    private weak var first: EasyHandle?
    private var bodySent = 0
    private var head = ResponseHead()
    private var body: SecretCollector
    /// Why we told libcurl to give up.
    private var verdict: FetchError?

    init(
        _ request: OutboundRequest, _ proxy: ForwardProxy, caFile: String?, trust: SharedTrust?,
        known: [String: [String]],
        done: @escaping @Sendable (Result<InboundResponse, FetchError>) -> Void
    ) {
        self.request = request
        self.known = known
        self.proxy = proxy
        self.caFile = caFile
        self.trust = trust
        self.done = done
        body = SecretCollector(limit: request.responseBytesMax)
    }

    func begin() -> EasyHandle? {
        do throws(FetchError) {
            let address = try WebAddress(request.url)
            let handle = EasyHandle()
            self.address = address
            hop = proxy.hop(for: address.origin)
            first = first ?? handle
            handle.set(address)
            handle.set(hop)
            if let path = request.unixSocket {
                handle.set(CURLOPT_UNIX_SOCKET_PATH, path)
            } else if hop == nil {
                handle.race = race
                handle.set(knownAddresses: known, port: address.origin.port)
            }
            // A proxy's address is its owner's choice, and where it leads is not for us to see.
            if request.reach == .publicOnly, hop == nil {
                handle.set(AddressPolicy(.registeredOnly))
            }
            try setFields(of: handle)
            setMethod(of: handle)
            setLimits(of: handle)
            setTrust(of: handle)
            setCertificate(of: handle)
            setCallbacks(of: handle)
            return handle
        } catch {
            done(.failure(error))
            return nil
        }
    }

    func conclude(_ handle: EasyHandle, _ code: CURLcode) -> () -> Void {
        let result = result(handle, code)
        let done = self.done
        return { done(result) }
    }

    func cancel() {
        done(.failure(.cancelled))
    }

    private func result(
        _ handle: EasyHandle, _ code: CURLcode
    ) -> Result<InboundResponse, FetchError> {
        if let verdict { return .failure(verdict) }
        guard code == CURLE_OK else {
            let host = address?.origin.host ?? ""
            // Unless another address of the name was connected to.
            if handle.policy?.hasRefused == true, code == CURLE_COULDNT_CONNECT {
                return .failure(.notPublic(host: host))
            }
            return .failure(TransferFailure(handle, code, host: host, hop: hop).fetchError)
        }
        guard head.isWhole else { return .failure(.notHTTP) }
        if head.status == 407, let hop {
            // Only a proxy asks for that (RFC 9110 section 15.5.8).
            return .failure(
                .forwardProxyFailed(reason: "\(hop.address) wants another user and password"))
        }
        return .success(
            InboundResponse(status: head.status, fields: head.fields, body: body.secret))
    }
}

// MARK: - Options

extension RequestTransfer {
    private func setMethod(of handle: EasyHandle) {
        switch request.method {
        case .get: handle.set(CURLOPT_HTTPGET, 1)
        case .post:
            handle.set(CURLOPT_POST, 1)
            // Read piece by piece from the secret itself; libcurl keeps no copy of the whole.
            handle.set(CURLOPT_POSTFIELDSIZE, request.body?.count ?? 0)
        }
        handle.set(CURLOPT_USERAGENT, "credential-proxy")
        handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        handle.set(CURLOPT_HTTP09_ALLOWED, 0)
        handle.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // Nothing asks for compression; what comes compressed all the same is decoded.
        handle.set(CURLOPT_ACCEPT_ENCODING, "identity")
        // libcurl repeats a request by itself only on a connection that it reuses.
        handle.set(CURLOPT_FRESH_CONNECT, 1)
        handle.set(CURLOPT_FORBID_REUSE, 1)
    }

    private func setFields(of handle: EasyHandle) throws(FetchError) {
        // libcurl would wait for permission to send a large body.
        handle.add(field: SecretBytes("Expect:"))
        handle.add(field: SecretBytes("Accept-Encoding:"))
        for field in request.fields {
            guard let line = field.line else {
                throw .other(
                    code: Int32(CURLE_BAD_FUNCTION_ARGUMENT.rawValue),
                    reason: "the field \"\(field.name)\" cannot be sent")
            }
            handle.add(field: line)
        }
    }

    private func setLimits(of handle: EasyHandle) {
        func set(_ option: CURLoption, _ limit: UInt64) {
            handle.set(option, race.left(ofMilliseconds: Int(clamping: limit)))
        }
        let limit = min(request.timeoutMilliseconds, UInt64(Int32.max))
        set(CURLOPT_TIMEOUT_MS, limit)
        set(CURLOPT_CONNECTTIMEOUT_MS, min(limit, RequestTransfer.connectMillisecondsMax))
    }

    private func setTrust(of handle: EasyHandle) {
        handle.set(CURLOPT_SSL_VERIFYPEER, 1)
        handle.set(CURLOPT_SSL_VERIFYHOST, 2)
        handle.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let trust, trust.fits {
            // Nothing is loaded from files; `installTrust` brings the store.
            handle.set(CURLOPT_CAINFO, nil)
            handle.set(CURLOPT_CAPATH, nil)
            // SAFETY: the driver holds this transfer as long as its handle.
            let context = Unmanaged.passUnretained(self).toOpaque()
            handle.setTLSContext(context) { installTrust($1, $2) }
            return
        }
        if let caFile {
            handle.set(CURLOPT_CAINFO, caFile)
            handle.set(CURLOPT_CAPATH, nil)
            return
        }
        // OpenSSL reads these, libcurl does not; workers and we must believe the same authorities.
        if let file = getenv("SSL_CERT_FILE") {
            handle.set(CURLOPT_CAINFO, String(cString: file))
        }
        if let directory = getenv("SSL_CERT_DIR") {
            handle.set(CURLOPT_CAPATH, String(cString: directory))
        }
    }

    /// PEM files, which libcurl reads when it connects (CURLOPT_SSLCERT(3), CURLOPT_SSLKEY(3)).
    private func setCertificate(of handle: EasyHandle) {
        guard let certificate = request.clientCertificate else { return }
        handle.set(CURLOPT_SSLCERT, certificate.certificatePath)
        handle.set(CURLOPT_SSLKEY, certificate.keyPath)
    }

    private func setCallbacks(of handle: EasyHandle) {
        // SAFETY: the driver holds this transfer as long as its handle.
        let context = Unmanaged.passUnretained(self).toOpaque()
        handle.set(
            CURLOPT_READFUNCTION, CURLOPT_READDATA, context
        ) { target, size, count, context in
            transfer(context).giveBody(
                UnsafeMutableRawBufferPointer(start: target, count: size * count))
        }
        handle.set(
            CURLOPT_HEADERFUNCTION, CURLOPT_HEADERDATA, context
        ) { source, size, count, context in
            let line = UnsafeRawBufferPointer(start: source, count: size * count)
            return transfer(context).takeLine(line) ? line.count : 0
        }
        handle.set(
            CURLOPT_WRITEFUNCTION, CURLOPT_WRITEDATA, context
        ) { source, size, count, context in
            let bytes = UnsafeRawBufferPointer(start: source, count: size * count)
            return transfer(context).takeBody(bytes) ? bytes.count : Int(CURL_WRITEFUNC_ERROR)
        }
    }
}

// MARK: - Callbacks

extension RequestTransfer {
    /// The next piece of the body; 0 bytes are its end (CURLOPT_READFUNCTION(3)).
    private func giveBody(_ target: UnsafeMutableRawBufferPointer) -> Int {
        guard let body = request.body else { return 0 }
        return body.withBytes { bytes in
            let count = min(target.count, bytes.count - bodySent)
            target.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: bytes[bodySent..<bodySent + count]))
            bodySent += count
            return count
        }
    }

    fileprivate func takeTLSContext(_ context: UnsafeMutableRawPointer) -> Bool {
        guard let reason = trust?.install(context) else { return true }
        verdict = .tlsFailed(host: address?.origin.host ?? "", reason: reason)
        return false
    }

    private func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
        do throws(ResponseHead.Fault) {
            let wasWhole = head.isWhole
            try head.take(line)
            // "Content-Encoding: utf-8" and its like mean nothing; libcurl would refuse the body.
            if !wasWhole, head.isWhole, head.hasUnknownEncoding {
                (race.winner ?? first)?.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
            }
            return true
        } catch {
            switch error {
            case .notHTTP: verdict = .notHTTP
            case .tooLarge: verdict = .responseTooLarge(limit: ResponseHead.bytesMax)
            }
            return false
        }
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if body.append(bytes) { return true }
        verdict = .responseTooLarge(limit: request.responseBytesMax)
        return false
    }
}

private func installTrust(
    _ context: UnsafeMutableRawPointer?, _ transfer: UnsafeMutableRawPointer?
) -> CURLcode {
    guard let context else { return CURLE_SSL_CERTPROBLEM }
    return Fetch.transfer(transfer).takeTLSContext(context) ? CURLE_OK : CURLE_SSL_CERTPROBLEM
}

private func transfer(_ context: UnsafeMutableRawPointer?) -> RequestTransfer {
    // SAFETY: `setCallbacks` gave this pointer, and the driver holds the transfer.
    Unmanaged<RequestTransfer>.fromOpaque(context!).takeUnretainedValue()
}

extension OutboundRequest.Field {
    /// The line for libcurl. Nil where a name or value could end the line or the text early.
    fileprivate var line: SecretBytes? {
        let isToken = name.utf8.allSatisfy { byte in
            0x21...0x7E ~= byte && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
        }
        guard isToken, !name.isEmpty,
            value.withBytes({ $0.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } })
        else { return nil }
        // Without a value libcurl wants a semicolon (CURLOPT_HTTPHEADER(3)).
        let start = Array((name + (value.isEmpty ? ";" : ": ")).utf8)
        return value.withBytes { value in
            SecretBytes(count: start.count + value.count) { target in
                target.copyBytes(from: start)
                UnsafeMutableRawBufferPointer(rebasing: target[start.count...])
                    .copyMemory(from: value)
            }
        }
    }
}
