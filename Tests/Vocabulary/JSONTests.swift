import Bytes
import Testing
import Vocabulary

private func read(
    _ text: String, strings: JSONReader.Strings = .plain
) -> Result<JSONValue, JSONError> {
    Result { () throws(JSONError) in try JSONReader.read(text: text, strings: strings) }
}

private func read(bytes: [UInt8]) -> Result<JSONValue, JSONError> {
    bytes.withUnsafeBytes { bytes in
        Result { () throws(JSONError) in try JSONReader.read(bytes) }
    }
}

private func text(_ value: JSONValue, _ style: JSONWriter.Style = .compact) -> String {
    JSONWriter.write(value, style: style).withBytes { String(decoding: $0, as: UTF8.self) }
}

@Suite struct `JSON reader` {
    @Test(
        arguments: [
            ("null", .null), (" true\r\n", true), ("false", false), ("\t-12 ", -12),
            ("\"\"", ""), ("[]", []), ("{ }", [:]), ("[ 1 , [ ] ]", [1, []]),
            ("{\"a\":{\"b\":[null]},\"c\":\"d\"}", ["a": ["b": [.null]], "c": "d"]),
            (#""\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00""#, "\"\\/\u{8}\u{C}\n\r\tAé😀"),
            (#""\u0000""#, "\0"), ("\"é😀\"", "é😀"), ("\u{FEFF}1", 1),
        ] as [(String, JSONValue)])
    func `reads`(source: String, value: JSONValue) {
        #expect(read(source) == .success(value))
    }

    @Test(
        arguments: [
            ("", .empty), (" \n", .empty), ("\u{FEFF}", .empty), ("nul", .endsEarly),
            ("nulL", .unexpectedByte(at: 3)), ("1 2", .trailingBytes(at: 2)),
            ("{\"a\":1}{", .trailingBytes(at: 7)), ("01", .trailingBytes(at: 1)),
            ("+1", .unexpectedByte(at: 0)), (".5", .unexpectedByte(at: 0)), ("1.", .endsEarly),
            ("1.e3", .unexpectedByte(at: 2)), ("-", .endsEarly), ("-x", .unexpectedByte(at: 1)),
            ("1e", .endsEarly), ("1e+", .endsEarly), ("NaN", .unexpectedByte(at: 0)),
            ("'a'", .unexpectedByte(at: 0)), ("\"a", .endsEarly), ("\"\\", .endsEarly),
            ("\"a\nb\"", .unexpectedByte(at: 2)), ("\"\\n\nb\"", .unexpectedByte(at: 3)),
            ("\"\0\"", .unexpectedByte(at: 1)), (#""\x41""#, .invalidEscape(at: 1)),
            (#""\u12G4""#, .invalidEscape(at: 1)), (#""\ud800""#, .invalidEscape(at: 1)),
            (#""\ud800\u0041""#, .invalidEscape(at: 1)), (#""\udc00""#, .invalidEscape(at: 1)),
            (#""\ud800\ud800""#, .invalidEscape(at: 1)), ("[1,]", .unexpectedByte(at: 3)),
            ("[1 2]", .unexpectedByte(at: 3)), ("[", .endsEarly),
            ("{\"a\"}", .unexpectedByte(at: 4)),
            ("{\"a\":1,}", .unexpectedByte(at: 7)), ("{a:1}", .unexpectedByte(at: 1)),
            ("{\"a\":1,\"a\":2}", .repeatedName(at: 7)),
            (#"{"access_token":"x","access\u005ftoken":"y"}"#, .repeatedName(at: 20)),
            ("/**/1", .unexpectedByte(at: 0)),
        ] as [(String, JSONError)])
    func `refuses`(source: String, error: JSONError) {
        #expect(read(source) == .failure(error))
    }

    @Test(
        arguments: [
            [0x22, 0x80, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xC3, 0x22],
            [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xE0, 0x80, 0x80, 0x22],
            [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xF5, 0x80, 0x80, 0x80, 0x22],
            [0x22, 0xE2, 0x82], [0x22, 0xF0, 0x9F, 0x98, 0x22], [0x22, 0xFF, 0xFE, 0x22],
        ] as [[UInt8]])
    func `refuses what is not UTF-8`(bytes: [UInt8]) {
        #expect(read(bytes: bytes) == .failure(.invalidUTF8(at: 1)))
    }

    @Test func `agrees with the standard library about UTF-8`() {
        let pieces: [UInt8] = [
            0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1,
            0xED, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
        ]
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    for d in pieces {
                        let bytes = [a, b, c, d]
                        let isValid = String(validating: bytes, as: UTF8.self) != nil
                        let offset = bytes.withUnsafeBytes { firstInvalidUTF8(in: $0) }
                        if isValid != (offset == nil) { Issue.record("\(bytes)") }
                    }
                }
            }
        }
    }

    @Test func `bounds depth, size and the number of values`() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(read(deep) == .failure(.tooDeep(limit: 32)))
        let nested = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        #expect((try? read(nested).get()) != nil)
        let wide = "[" + String(repeating: "1,", count: 70_000) + "1]"
        #expect(read(wide) == .failure(.tooManyValues(limit: 1 << 16)))
        let large = String(repeating: " ", count: 1 << 20) + "1"
        #expect(read(large) == .failure(.tooLarge(limit: 1 << 20)))
    }

    @Test func `an incomplete document is an error at every length`() {
        let source = Array(
            #"{"a":[1.5e+3,-0,true,false,null,"x\u00e9\ud83d\ude00é"],"b":{"c":"\n"}}"#.utf8)
        #expect((try? read(bytes: source).get()) != nil)
        for length in 0..<source.count {
            let result = read(bytes: Array(source[..<length]))
            #expect((try? result.get()) == nil, "\(length)")
        }
    }

    @Test func `every single changed byte is read or refused`() {
        let source = Array(#"{"a":[1.5e+3,true,"x\u00e9\ud83d\ude00é"],"b":{"c":"\n"}}"#.utf8)
        for index in source.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = source
                changed[index] = byte
                guard let value = try? read(bytes: changed).get() else { continue }
                #expect(read(text(value)) == .success(value))
            }
        }
    }

    @Test func `names that look alike are different names`() throws {
        let object = try #require(try read("{\"\u{212A}\":1,\"K\":2}").get().asObject)
        #expect(object["K"] == 2)
        #expect(object["\u{212A}"] == 1)
    }

    @Test func `secret strings are never shown`() throws {
        let value = try read(
            #"{"access_token":"canary-\u0041","n":1,"o":["canary"]}"#, strings: .secret
        )
        .get()
        let object = try #require(value.asObject)
        #expect(object["access_token"]?.asString == nil)
        #expect(object["access_token"]?.asSecret == SecretBytes("canary-A"))
        #expect(object["access_token"]?.asRevealedString == "canary-A")
        #expect(!"\(value)".contains("canary"))
        #expect(
            JSONWriter.redactedText(value)
                == #"{"access_token":"[secret]","n":1,"o":["[secret]"]}"#)
        #expect(text(value) == #"{"access_token":"canary-A","n":1,"o":["canary"]}"#)
    }
}

@Suite struct `JSON number` {
    @Test(arguments: [
        ("3599", Int64(3599)), ("3599.0", 3599), ("3.6e3", 3600), ("3599.7", 3599), ("-1", -1),
        ("-1.9", -1), ("0", 0), ("-0", 0), ("99999999999999", 99_999_999_999_999),
        ("9223372036854775807", .max), ("9223372036854775808", .max), ("1e400", .max),
        ("-1e400", .min), ("1e-400", 0), ("18446744073709551616000", .max),
    ])
    func `is truncated and clamped`(source: String, expected: Int64) throws {
        let number = try #require(try read(source).get().asNumber)
        #expect(number.truncated == expected)
        #expect(number.text == source)
    }

    @Test func `not-a-number counts as nothing`() {
        #expect(JSONNumber.truncate(.nan) == 0)
    }
}

@Suite struct `JSON writer` {
    @Test func `keeps order, numbers and text`() throws {
        let source = #"{"z":1.50,"a":[1e2,-0.0,"é\"\\"],"m":{}}"#
        #expect(text(try read(source).get()) == source)
    }

    @Test func `escapes every control character`() throws {
        let value = JSONValue.string("\u{1B}[31m\0\n\r\t\u{7F}\u{9B}é\u{2028}")
        let written = text(value)
        #expect(written == #""\u001b[31m\u0000\n\r\t\u007f\u009bé"# + "\u{2028}\"")
        #expect(read(written) == .success(value))
    }

    @Test func `indents for people`() {
        let value: JSONValue = ["a": [1, true], "b": [:], "c": []]
        #expect(
            text(value, .indented) == """
                {
                  "a": [
                    1,
                    true
                  ],
                  "b": {},
                  "c": []
                }

                """)
    }
}

@Suite struct `JSON object` {
    @Test func `replaces in place, appends and removes`() {
        var object = JSONObject()
        object["a"] = 1
        object["b"] = 2
        object["a"] = 3
        #expect(JSONValue.object(object) == ["a": 3, "b": 2])
        object["a"] = nil
        object["missing"] = nil
        #expect(object.members.map(\.name) == ["b"])
    }
}
