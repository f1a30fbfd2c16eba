import Bytes
import Testing

@testable import OAuth

func text(_ secret: SecretBytes) -> String {
    secret.withBytes { String(decoding: $0, as: UTF8.self) }
}

private func read(_ form: String) -> Result<[[String]], FormError> {
    Result { () throws(FormError) in
        try SecretBytes(form).withBytes { bytes throws(FormError) in try FormEncoding.read(bytes) }
            .map { [$0.name, text($0.value)] }
    }
}

@Suite struct `Form` {
    @Test func `is written with every reserved byte escaped`() {
        let form = FormEncoding.encode([
            FormParameter("grant_type", "refresh_token"), FormParameter("a b", "1/+&=%é~-._*"),
            FormParameter("empty", ""),
        ])
        #expect(text(form) == "grant_type=refresh_token&a+b=1%2F%2B%26%3D%25%C3%A9~-._%2A&empty=")
        #expect(text(FormEncoding.encode([])) == "")
    }

    @Test func `is read back as it was written`() throws {
        var value = ""
        for scalar in 0..<0x300 { value.unicodeScalars.append(Unicode.Scalar(UInt16(scalar))!) }
        let form = text(
            FormEncoding.encode([FormParameter("n\0+", value), FormParameter("b", "")]))
        #expect(read(form) == .success([["n\0+", value], ["b", ""]]))
        #expect(form.utf8.allSatisfy { (0x21...0x7E).contains($0) })
    }

    @Test(
        arguments: [
            ("", []), ("&&", []), ("a", [["a", ""]]), ("a=", [["a", ""]]), ("=a", [["", "a"]]),
            ("a=b=c", [["a", "b=c"]]), ("a+b=%2b%2B", [["a b", "++"]]),
            ("&a=1&&b=%C3%A9&", [["a", "1"], ["b", "é"]]),
        ] as [(String, [[String]])])
    func `is read`(form: String, parameters: [[String]]) {
        #expect(read(form) == .success(parameters))
    }

    @Test(
        arguments: [
            ("a=%", .invalidEscape), ("a=%4", .invalidEscape), ("a=%4g", .invalidEscape),
            ("%zz=1", .invalidEscape), ("a=%ff", .invalidUTF8), ("a=%c3", .invalidUTF8),
            ("%ed%a0%80=1", .invalidUTF8), ("a=1&a=2", .repeatedParameter(name: "a")),
            ("a=1&%61=2", .repeatedParameter(name: "a")), ("a&a", .repeatedParameter(name: "a")),
        ] as [(String, FormError)])
    func `is refused`(form: String, error: FormError) {
        #expect(read(form) == .failure(error))
    }

    @Test func `is bounded`() {
        let form = (0..<257).map { "p\($0)=1" }.joined(separator: "&")
        #expect(read(form) == .failure(.tooManyParameters(limit: 256)))
    }

    @Test func `escapes for URLs without a plus`() {
        #expect(FormEncoding.encodeForURL("a b+c&é\u{1}~") == "a%20b%2Bc%26%C3%A9%01~")
    }

    @Test func `every truncation is read or refused`() {
        let form = Array("a=%C3%A9&b=%F0%9F%98%80+x&c".utf8)
        for length in 0...form.count {
            let piece = SecretBytes(Array(form[..<length]))
            _ = piece.withBytes { try? FormEncoding.read($0) }
        }
        #expect(
            read("a=%C3%A9&b=%F0%9F%98%80+x&c")
                == .success([["a", "é"], ["b", "😀 x"], ["c", ""]]))
    }
}
