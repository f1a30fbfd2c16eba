// The words of a command line, without any command.

import Testing
import Vocabulary

@testable import proxy

@Suite struct `Argument reader` {
    private func reader(_ words: String...) -> ArgumentReader {
        ArgumentReader(command: "login", words: words)
    }

    @Test(arguments: [
        ["--hint", "ann", "work"], ["--hint=ann", "work"], ["work", "--hint", "ann"],
    ])
    func `takes a value from either form and either side of the operand`(words: [String]) throws {
        var reader = ArgumentReader(command: "login", words: words)
        #expect(try reader.value(of: "--hint", "USER") == "ann")
        #expect(try reader.operand() == "work")
        try reader.finish()
    }

    @Test func `keeps the order of a repeated flag`() throws {
        var reader = reader("--scope", "a", "--scope=b c", "--scope", "d")
        #expect(try reader.values(of: "--scope", "S") == ["a", "b c", "d"])
        try reader.finish()
    }

    @Test func `gives an empty list and no operand when nothing is there`() throws {
        var reader = reader()
        #expect(try reader.values(of: "--scope", "S") == [])
        #expect(try reader.flag("--json") == false)
        #expect(try reader.operand() == nil)
        try reader.finish()
    }

    @Test func `names the nearest flag when one is unknown`() {
        var reader = reader("--print-ulr")
        #expect(
            throws: UsageError.unknownFlag("--print-ulr", nearest: "--print-url", command: "login")
        ) {
            _ = try reader.flag("--paste")
            _ = try reader.flag("--print-url")
            try reader.finish()
        }
    }

    @Test func `names no flag when none is near`() {
        var reader = reader("--verbose=3")
        #expect(throws: UsageError.unknownFlag("--verbose", nearest: nil, command: "login")) {
            _ = try reader.flag("--paste")
            try reader.finish()
        }
    }

    @Test func `does not take a flag for the value of another`() {
        var reader = reader("--hint", "--paste")
        #expect(throws: UsageError.missingValue(flag: "--hint", "USER")) {
            _ = try reader.value(of: "--hint", "USER")
        }
    }

    @Test func `takes a value that looks like a flag behind an equals sign`() throws {
        var reader = reader("--hint=--paste=x")
        #expect(try reader.value(of: "--hint", "USER") == "--paste=x")
        try reader.finish()
    }

    @Test(arguments: [["--hint"], ["--hint="], ["--hint", ""]])
    func `refuses a flag without its value`(words: [String]) {
        var reader = ArgumentReader(command: "login", words: words)
        #expect(throws: UsageError.missingValue(flag: "--hint", "USER")) {
            _ = try reader.value(of: "--hint", "USER")
        }
    }

    @Test func `refuses a value for a flag that takes none`() {
        var reader = reader("--json=yes")
        #expect(throws: UsageError.unexpectedValue(flag: "--json")) { try reader.flag("--json") }
    }

    @Test(arguments: [["--json", "--json"], ["--json", "x", "--json=1"]])
    func `refuses a flag given twice`(words: [String]) {
        var reader = ArgumentReader(command: "login", words: words)
        #expect(throws: UsageError.repeatedFlag("--json")) { try reader.flag("--json") }
    }

    @Test func `refuses a second value where one is allowed`() {
        var reader = reader("--hint", "a", "--hint=b")
        #expect(throws: UsageError.repeatedFlag("--hint")) {
            _ = try reader.value(of: "--hint", "USER")
        }
    }

    @Test func `takes everything after two dashes as operands`() throws {
        var reader = reader("work", "--", "--json", "-x")
        #expect(try reader.flag("--json") == false)
        #expect(try reader.operand() == "work")
        #expect(try reader.operand() == "--json")
        #expect(try reader.operand() == "-x")
        try reader.finish()
    }

    @Test func `takes a lone dash as an operand`() throws {
        var reader = reader("-")
        #expect(try reader.operand() == "-")
        try reader.finish()
    }

    @Test func `refuses what is left`() {
        var reader = reader("work", "more")
        #expect(throws: UsageError.unexpectedOperand("more", command: "login")) {
            _ = try reader.operand()
            try reader.finish()
        }
    }

    @Test func `refuses a missing operand by its name`() {
        var reader = reader()
        #expect(throws: UsageError.missingOperand("NAME", command: "login")) {
            try reader.operand(required: "NAME")
        }
    }

    @Test func `reads a number and says what it expected instead of a word`() throws {
        var good = reader("--port", "8080")
        #expect(try good.value(of: "--port", "N", as: UInt16.init, expected: "a port") == 8080)
        var bad = reader("--port", "80800")
        #expect(throws: UsageError.invalidValue(of: "--port", "80800", expected: "a port")) {
            try bad.value(of: "--port", "N", as: UInt16.init, expected: "a port")
        }
    }

    @Test(arguments: ["--device", "--device=x"])
    func `says that a later flag is not supported yet`(word: String) {
        var reader = ArgumentReader(command: "login", words: [word])
        #expect(throws: UsageError.notSupportedYet("\"--device\"", hint: "use \"--paste\"")) {
            try reader.refuse("--device", hint: "use \"--paste\"")
        }
    }
}

@Suite struct `Nearest name` {
    private let names = ["serve", "login", "logout", "status", "token", "import", "check"]

    @Test(arguments: [
        ("sreve", "serve"), ("logn", "login"), ("stats", "status"), ("tokens", "token"),
        ("logou", "logout"), ("chekc", "check"), ("stat", "status"),
    ])
    func `is the one that is fewest slips away`(typed: String, meant: String) {
        #expect(nearestName(to: typed, among: names) == meant)
    }

    @Test(arguments: ["", "x", "proxy", "whatever", String(repeating: "login", count: 1000)])
    func `is nil when nothing is near`(typed: String) {
        #expect(nearestName(to: typed, among: names) == nil)
    }
}
