import HTTPWire
import Testing

@Suite struct `Known fields` {
    private func field(_ name: String) -> KnownField {
        Array(name.utf8).withUnsafeBytes { KnownField.named($0) }
    }

    @Test(arguments: KnownField.allCases.filter { $0 != .other })
    func `are found by their names in any case and by no other`(known: KnownField) {
        let name = String(describing: known.name)
        #expect(field(name) == known)
        #expect(field(name.lowercased()) == known)
        #expect(field(name.uppercased()) == known)
        #expect(field(name + "s") == .other)
        #expect(field("x" + name) == .other)
        for offset in 0..<name.utf8.count {
            var bytes = Array(name.utf8)
            bytes[offset] = UInt8(ascii: "~")
            #expect(field(String(decoding: bytes, as: UTF8.self)) == .other)
        }
    }

    @Test func `fit into a set`() {
        #expect(KnownField.allCases.count <= 64)
        #expect(field("") == .other)
    }

    @Test func `a set holds what was put in and never the unknown`() {
        var set: KnownFieldSet = [.host, .dpopNonce, .other]
        #expect(set.contains(.host) && set.contains(.dpopNonce))
        #expect(!set.contains(.other) && !set.contains(.te))
        set.remove(.host)
        #expect(!set.contains(.host))
        #expect(set.intersects([.dpopNonce, .te]) && !set.intersects([.te]))
        set.remove(.dpopNonce)
        #expect(set.isEmpty)
    }

    /// C051, RFC 9110 section 7.6.1.
    @Test func `those of one connection are hop by hop`() {
        for known in [
            KnownField.connection, .keepAlive, .te, .trailer, .transferEncoding, .upgrade,
            .proxyAuthorization, .proxyAuthenticate, .proxyConnection, .http2Settings,
        ] {
            #expect(KnownFieldSet.hopByHop.contains(known))
        }
        #expect(!KnownFieldSet.hopByHop.intersects([.authorization, .setCookie, .contentLength]))
    }
}
