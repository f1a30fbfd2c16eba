import Bytes
import Crypto
import Testing

@Suite struct `A DPoP proof` {
    private let key = SigningKey.generate(.es256)

    /// Header and claims as text, after the signature was found good.
    private func read(_ proof: String) throws -> (header: String, claims: String) {
        let parts = proof.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        try #require(parts.count == 3)
        #expect(
            key.verificationKey.verifies(
                try decoded(parts[2]), bytes(parts[0] + "." + parts[1]), .es256))
        return (
            String(decoding: try decoded(parts[0]), as: UTF8.self),
            String(decoding: try decoded(parts[1]), as: UTF8.self)
        )
    }

    /// RFC 9449 section 4.2.
    @Test func `says all that a server checks, in one form`() throws {
        let signer = ProofSigner(key)
        let (header, claims) = try read(
            signer.proof(
                method: "GET", url: "https://api.example.com/a%2Fb",
                accessTokenHash: ProofSigner.accessTokenHash(
                    SecretBytes("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")),
                nonce: "eyJ7S_zG.eyJH0-Z.HX4w-7v", issuedAt: 1_562_262_618))
        let jwk = Dictionary(uniqueKeysWithValues: key.publicJWK.map { ($0.name, $0.value) })
        #expect(
            header
                == #"{"typ":"dpop+jwt","alg":"ES256","jwk":{"crv":"P-256","kty":"EC","x":"\#(jwk["x"]!)","y":"\#(jwk["y"]!)"}}"#
        )
        let rest = try #require(claims.firstRange(of: #"","htm""#))
        let identifier = claims[..<rest.lowerBound].dropFirst(#"{"jti":""#.count)
        #expect(try decoded(String(identifier)).count == 16)
        #expect(
            claims[rest.lowerBound...]
                == #"","htm":"GET","htu":"https://api.example.com/a%2Fb","iat":1562262618,"ath":"fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo","nonce":"eyJ7S_zG.eyJH0-Z.HX4w-7v"}"#
        )
        #expect(signer.thumbprint == key.thumbprint)
    }

    @Test func `leaves out what is not there`() throws {
        let (_, claims) = try read(
            ProofSigner(key).proof(
                method: "POST", url: "https://id.example.com/token", issuedAt: -1))
        #expect(claims.hasSuffix(#","htm":"POST","htu":"https://id.example.com/token","iat":-1}"#))
    }

    @Test func `quotes what would end a text`() throws {
        let (_, claims) = try read(
            ProofSigner(key).proof(
                method: "A\"B", url: "https://x/\\é\u{7F}\u{0}\u{1F}", nonce: "\n", issuedAt: 0))
        #expect(
            claims.hasSuffix(
                #","htm":"A\"B","htu":"https://x/\\é\#u{7F}\u0000\u001f","iat":0,"nonce":"\u000a"}"#
            ))
    }

    @Test func `never repeats, on eight threads at once`() async throws {
        let signer = ProofSigner(key)
        let made = await withTaskGroup(of: [String].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<50).map { _ in
                        signer.proof(method: "GET", url: "https://x/", issuedAt: 1)
                    }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(made.map { $0.split(separator: ".")[1] }).count == 400)
        for proof in made { _ = try read(proof) }
    }
}
