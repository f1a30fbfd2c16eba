import Bytes
import Testing
import TokenStore
import Vocabulary

@Suite struct `Login record` {
    private func parse(_ text: String) throws(StoreError) -> Login {
        try Login(SecretBytes(text), path: "x.json")
    }

    private func text(_ login: Login) -> String { reveal(JSONWriter.write(login.document)) }

    @Test func `comes back as it was written`() throws {
        var login = sampleLogin()
        login.idToken = SecretBytes("a.b.c")
        login.idTokenExpiresAt = WallTime(seconds: 77)
        login.subject = "user-1"
        login.rejection = Login.Rejection(code: "invalid_grant", at: WallTime(seconds: 5))
        login.extras = JSONObject([.init(name: "did", value: "did:plc:x")])
        let back = try parse(text(login))
        #expect(text(back) == text(login))
        #expect(back.access == "AT1")
        #expect(back.refresh == "RT1")
        #expect(back.rejection == login.rejection)
        #expect(back.expiresAt == login.expiresAt)
        #expect(back.idTokenExpiresAt == WallTime(seconds: 77))
        #expect(back.subject == "user-1")
        #expect(back.extras["did"]?.asRevealedString == "did:plc:x")
    }

    @Test func `keeps members that this release does not know`() throws {
        let written = """
            {"version":1,"generation":4,"client_id":"c","obtained_at":9,"access_token":"A",\
            "future":{"kid":"k","numbers":[1.50,2]},"colour":"blue"}
            """
        var login = try parse(written)
        login.accessToken = SecretBytes("B")
        #expect(text(login).contains(#""future":{"kid":"k","numbers":[1.50,2]}"#))
        #expect(text(login).contains(#""colour":"blue""#))
    }

    @Test func `a null member counts as absent, and so does an empty token`() throws {
        let login = try parse(
            #"{"version":1,"generation":1,"client_id":"c","obtained_at":9,"access_token":"A","refresh_token":null,"expires_at":null}"#
        )
        #expect(login.refreshToken == nil)
        #expect(login.expiresAt == nil)
    }

    @Test(arguments: [
        "", " ", "{", "[]", "null", "\u{0}", #"{"access_token":"A"},garbage"#, "{}",
        #"{"version":"1"}"#, #"{"version":0}"#, #"{"version":-1}"#, #"{"version":1.5}"#,
        #"{"version":1,"generation":-1,"client_id":"c","obtained_at":9}"#,
        #"{"version":1,"generation":1,"client_id":7,"obtained_at":9}"#,
        #"{"version":1,"generation":1,"client_id":"c"}"#,
        #"{"version":1,"generation":1,"client_id":"c","obtained_at":9,"access_token":""}"#,
        #"{"version":1,"generation":1,"client_id":"c","obtained_at":9,"expires_at":"soon"}"#,
        #"{"version":1,"generation":1,"client_id":"c","obtained_at":9,"rejected":"yes"}"#,
        #"{"version":1,"version":1,"generation":1,"client_id":"c","obtained_at":9}"#,
    ])
    func `what is not a record is damaged, never a trap`(text: String) {
        let error = #expect(throws: StoreError.self) { try parse(text) }
        guard case .damaged("x.json", _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `each beginning of a record is damaged`() {
        let whole = Array(text(sampleLogin()).utf8)
        for count in 0..<whole.count {
            #expect(throws: StoreError.self) {
                try Login(SecretBytes(Array(whole[..<count])), path: "x.json")
            }
        }
    }

    @Test func `a later version is told apart from damage`() {
        #expect(throws: StoreError.newerVersion(path: "x.json", version: 2)) {
            try parse(#"{"version":2,"tokens":[]}"#)
        }
    }

    @Test func `a byte order mark is passed over`() throws {
        #expect(try parse("\u{FEFF}" + text(sampleLogin())).access == "AT1")
    }

    @Test func `no error shows what the file holds`() throws {
        let canary =
            #"{"version":1,"access_token":"canary-token" "refresh_token":"canary-refresh"}"#
        let error = try #require(throws: StoreError.self) { try parse(canary) }
        #expect(!error.message.contains("canary"))
        #expect(!String(reflecting: error).contains("canary"))
        #expect(!String(reflecting: sampleLogin("canary-token")).contains("canary-token"))
    }
}
