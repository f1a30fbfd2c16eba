import Bytes
import Testing

@testable import OAuth

@Suite struct `Proof key` {
    @Test func `makes the challenge of RFC 7636 appendix B`() {
        let pair = PKCE(verifier: SecretBytes("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
        #expect(pair.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test func `is fresh each time and within the length that servers take`() {
        let pairs: [PKCE] = (0..<100).map { _ in PKCE.fresh() }
        #expect(Set(pairs.map(\.challenge)).count == 100)
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        let unreserved = Set((letters + "0123456789-_").utf8)
        for pair in pairs {
            #expect((43...128).contains(pair.verifier.count))
            #expect(pair.verifier.withBytes { $0.allSatisfy(unreserved.contains) })
            #expect(pair.challenge.utf8.count == 43)
        }
    }
}
