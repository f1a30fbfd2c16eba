import Bytes
import Testing
import Vocabulary

@testable import OAuth

private func post(_ client: ClientAuthentication = .none(clientID: "tv")) -> FormPost {
    DeviceAuthorization.request(
        endpoint: "https://id.example.com/device", scopes: ["openid", "a b"], client: client,
        additions: FormAdditions(parameters: [FormParameter("audience", "x")]))
}

private func read(_ body: String, status: Int = 200) -> Result<DeviceAuthorization, TokenFailure> {
    Result { () throws(TokenFailure) in
        try DeviceAuthorization.read(
            answer(status, "application/json", body), to: post(), quirks: [], now: testNow)
    }
}

private func document(_ changes: [String: String?] = [:]) -> String {
    var members: [String: String] = [
        "device_code": "\"canary-device\"", "user_code": "\"WDJB-MJHT\"",
        "verification_uri": "\"https://id.example.com/activate\"", "expires_in": "600",
    ]
    for (name, value) in changes { members[name] = value }
    return "{"
        + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
        .joined(separator: ",") + "}"
}

@Suite struct `Device authorization` {
    @Test func `is asked for with a form and the client's proof`() {
        let outbound = post(.basic(clientID: "tv", secret: SecretBytes("s"))).outbound()
        #expect(outbound.method == .post)
        #expect(outbound.body.map(text) == "scope=openid+a+b&audience=x")
        #expect(outbound.fields.contains { $0.name == "Authorization" })
        #expect(post().outbound().body.map(text) == "scope=openid+a+b&client_id=tv&audience=x")
    }

    @Test func `polls every five seconds unless told otherwise (F64)`() throws {
        let plain = try read(document()).get()
        #expect(plain.intervalSeconds == 5)
        #expect(plain.expiresInSeconds == 600)
        #expect(plain.userCode == "WDJB-MJHT")
        #expect(plain.verificationURI == "https://id.example.com/activate")
        #expect(plain.completeURI == nil)
        for (text, seconds) in [("7", 7), ("\"8\"", 8), ("0", 5), ("-3", 5), ("1e9", 300)] {
            let told = try read(document(["interval": text])).get()
            #expect(told.intervalSeconds == UInt64(seconds), "\(text)")
        }
        let complete = "https://id.example.com/activate?user_code=WDJB-MJHT"
        #expect(
            try read(document(["verification_uri_complete": "\"\(complete)\""])).get().completeURI
                == complete)
    }

    @Test func `of a server that does not say how long ends all the same`() throws {
        #expect(try read(document(["expires_in": nil])).get().expiresInSeconds == 300)
        #expect(try read(document(["expires_in": "1e30"])).get().expiresInSeconds == 86_400)
    }

    @Test func `takes the older name of the address`() throws {
        let old = try read(
            document([
                "verification_uri": nil, "verification_url": "\"https://google.example/device\"",
            ])
        ).get()
        #expect(old.verificationURI == "https://google.example/device")
    }

    @Test(arguments: [
        "http://id.example.com/activate", "javascript:alert(1)", "file:///etc/passwd",
        "https://user@evil.example/", "https://id.example.com/\\u001b[31m", "activate", "",
    ])
    func `sends nobody to an address that is not https`(uri: String) {
        let result = read(document(["verification_uri": "\"\(uri)\""]))
        guard case .failure(let failure) = result else {
            Issue.record("\(uri) was taken")
            return
        }
        #expect(failure.verdict == .malformed)
        #expect(!"\(failure)".contains("\u{1b}"))
    }

    @Test func `leaves out a complete address that nobody should open`() throws {
        let document = document(["verification_uri_complete": "\"http://evil.example/\""])
        #expect(try read(document).get().completeURI == nil)
    }

    @Test func `shows a code without what a terminal would obey`() throws {
        let shown = try read(document(["user_code": #""WD\u001b[31mJB\r\n\u202eX""#])).get()
        #expect(shown.userCode == "WD[31mJBX")
        let long = String(repeating: "A", count: 500)
        #expect(try read(document(["user_code": "\"\(long)\""])).get().userCode.count <= 65)
    }

    @Test(arguments: ["device_code", "user_code", "verification_uri"])
    func `without what it needs is none`(name: String) {
        for value in [nil, "null", "\"\"", "7"] as [String?] {
            guard case .failure(let failure) = read(document([name: value])) else {
                Issue.record("taken without \(name)")
                continue
            }
            #expect(failure.verdict == .malformed)
        }
    }

    @Test func `cut anywhere is none`() {
        let whole = document()
        for length in 0..<whole.utf8.count {
            guard case .failure = read(String(whole.prefix(length))) else {
                Issue.record("taken after \(length) bytes")
                continue
            }
        }
    }

    @Test func `is refused in the words of the token endpoint's table`() {
        guard
            case .failure(let failure) = read(
                #"{"error":"invalid_client","error_description":"no canary-device"}"#, status: 401)
        else {
            Issue.record("taken")
            return
        }
        #expect(failure.verdict == .misconfigured)
        #expect("\(failure)".hasPrefix("the device authorization endpoint answered"))
    }
}

/// A reference to one, since expectations hold no mutable value.
private final class Poller {
    private var polling: DevicePolling

    init(intervalSeconds: UInt64) { polling = DevicePolling(intervalSeconds: intervalSeconds) }

    var first: UInt64 { polling.first }
    func step(after failure: TokenFailure) -> DevicePolling.Step { polling.step(after: failure) }
}

@Suite struct `Device polling` {
    private func failure(_ code: String, status: Int = 400) -> TokenFailure {
        guard
            case .failure(let failure) = readToken(
                answer(status, "application/json", #"{"error":"\#(code)"}"#))
        else { preconditionFailure("an error is no token") }
        return failure
    }

    @Test func `waits the interval, and five seconds more for good after slow_down (F64)`() {
        let polling = Poller(intervalSeconds: 5)
        #expect(polling.first == 5000)
        #expect(polling.step(after: failure("authorization_pending")) == .wait(milliseconds: 5000))
        #expect(polling.step(after: failure("slow_down")) == .wait(milliseconds: 10_000))
        #expect(
            polling.step(after: failure("authorization_pending")) == .wait(milliseconds: 10_000))
        #expect(polling.step(after: failure("slow_down")) == .wait(milliseconds: 15_000))
        // GitHub's way.
        #expect(
            polling.step(after: failure("slow_down", status: 200)) == .wait(milliseconds: 20_000))
    }

    @Test func `asks a silent network ever less often, and goes on`() {
        let polling = Poller(intervalSeconds: 5)
        let silence = TokenFailure(.timedOut(mayHaveArrived: true))
        let waits = (0..<8).map { _ in polling.step(after: silence) }
        #expect(
            waits.prefix(5) == [
                .wait(milliseconds: 10_000), .wait(milliseconds: 20_000),
                .wait(milliseconds: 40_000), .wait(milliseconds: 80_000),
                .wait(milliseconds: 120_000),
            ])
        #expect(waits.last == .wait(milliseconds: 120_000))
        // An answer ends that.
        #expect(polling.step(after: failure("authorization_pending")) == .wait(milliseconds: 5000))
        for _ in 0..<1000 { _ = polling.step(after: silence) }
        #expect(polling.step(after: silence) == .wait(milliseconds: 120_000))
    }

    @Test func `heeds a server in trouble`() {
        let polling = Poller(intervalSeconds: 5)
        guard
            case .failure(let busy) = readToken(
                answer(429, "text/html", "<html>", retryAfter: "300"))
        else { return }
        #expect(polling.step(after: busy) == .wait(milliseconds: 300_000))
    }

    @Test(
        arguments: [
            ("expired_token", DevicePolling.Step.expired), ("access_denied", .end),
            ("invalid_grant", .end), ("invalid_client", .end), ("unauthorized_client", .end),
            ("something_new", .end),
        ])
    func `ends with any other word`(code: String, step: DevicePolling.Step) {
        let polling = Poller(intervalSeconds: 5)
        #expect(polling.step(after: failure(code)) == step)
    }
}
