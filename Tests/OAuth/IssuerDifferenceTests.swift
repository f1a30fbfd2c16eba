import Testing

@testable import OAuth

@Suite struct `A wrong issuer` {
    @Test(arguments: [
        // C103, I66
        ("https://id.example.com", "https://id.example.com/", "add the slash at the end"),
        ("https://id.example.com/t/", "https://id.example.com/t", "leave out the slash"),
        ("http://id.example.com", "https://id.example.com", "write https"),
        ("https://id.example.com", "http://id.example.com", "its own configuration"),
        ("https://ID.example.com", "https://id.example.com", "the same letters"),
        (
            "https://login.microsoftonline.com/common/v2.0",
            "https://login.microsoftonline.com/{tenantid}/v2.0",
            "issuer: https://login.microsoftonline.com/TENANT-ID/v2.0"
        ),
        ("https://a.example", "https://b.example", "if that is the provider that you mean"),
    ])
    func `comes with its likely cause`(expected: String, received: String, words: String) {
        let hint = IssuerDifference.hint(expected: expected, received: received)
        #expect(hint?.contains(words) ?? false, "\(hint ?? "nil")")
    }

    @Test func `that is no URL comes without advice`() {
        #expect(IssuerDifference.hint(expected: "https://a.example", received: "<script>") == nil)
    }

    @Test func `may be a template, which takes a tenant's name and nothing more`() {
        let template = "https://login.microsoftonline.com/{tenantid}/v2.0"
        #expect(
            IssuerDifference.filled(template, tenant: "9188040d-6c67-4c5b-b112-36a304b66dad")
                == "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0")
        for tenant in ["", "a/b", "..", ".", "a?b", "a#b", "é", String(repeating: "a", count: 129)]
        {
            #expect(IssuerDifference.filled(template, tenant: tenant) == nil)
        }
        #expect(IssuerDifference.filled("https://a.example", tenant: "t") == nil)
    }
}
