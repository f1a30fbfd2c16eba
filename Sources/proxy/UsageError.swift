// What can be wrong with the words that somebody typed, and what to type instead.

/// A command line that cannot be obeyed. Nothing has been done when it is thrown.
enum UsageError: Error, Equatable {
    case noCommand
    case unknownCommand(String, nearest: String?)
    case unknownProvider(String, nearest: String?)
    case unknownFlag(String, nearest: String?, command: String)
    case missingValue(flag: String, String)
    case unexpectedValue(flag: String)
    case repeatedFlag(String)
    case invalidValue(of: String, String, expected: String)
    case exclusiveFlags([String])
    case missingOperand(String, command: String)
    case unexpectedOperand(String, command: String)
    /// Not repeated: it may be a token.
    case tokensOnCommandLine
    case notSupportedYet(String, hint: String)
}

extension UsageError {
    var message: String {
        switch self {
        case .noCommand: "no command given"
        case .unknownCommand(let word, _): "unknown command \"\(word)\""
        case .unknownProvider(let name, _): "no provider named \"\(name)\" is known here"
        case .unknownFlag(let flag, _, let command): "\"proxy \(command)\" has no flag \"\(flag)\""
        case .missingValue(let flag, let placeholder): "\"\(flag)\" needs a value: \(placeholder)"
        case .unexpectedValue(let flag): "\"\(flag)\" takes no value"
        case .repeatedFlag(let flag): "\"\(flag)\" is given twice"
        case .invalidValue(let flag, let value, let expected):
            "\"\(value)\" is no value for \"\(flag)\": expected \(expected)"
        case .exclusiveFlags(let flags):
            flags.map { "\"\($0)\"" }.joined(separator: " and ") + " exclude each other"
        case .missingOperand(let name, let command): "\"proxy \(command)\" needs \(name)"
        case .unexpectedOperand(let word, let command):
            "\"proxy \(command)\" has no use for \"\(word)\""
        case .tokensOnCommandLine:
            "tokens are read from standard input, never from the command line"
        case .notSupportedYet(let what, _): "\(what) is not supported yet"
        }
    }

    var hint: String {
        switch self {
        case .noCommand: "run \"proxy help\""
        case .unknownCommand(_, let nearest?): "did you mean \"proxy \(nearest)\"?"
        case .unknownCommand: "run \"proxy help\" for the list"
        case .unknownProvider(_, let nearest?): "did you mean \"proxy init \(nearest)\"?"
        case .unknownProvider: "run \"proxy help init\" for the list"
        case .unknownFlag(_, let nearest?, let command):
            "did you mean \"\(nearest)\"? \"proxy help \(command)\" lists them"
        case .unknownFlag(_, nil, let command): "run \"proxy help \(command)\""
        case .missingValue(let flag, let placeholder): "write \"\(flag)=\(placeholder)\""
        case .unexpectedValue(let flag): "write \"\(flag)\" alone"
        case .repeatedFlag(let flag): "give \"\(flag)\" once"
        case .invalidValue(let flag, _, let expected): "write \"\(flag)\" with \(expected)"
        case .exclusiveFlags(let flags): "leave out all but \"\(flags[0])\""
        case .missingOperand(_, let command), .unexpectedOperand(_, let command):
            "run \"proxy help \(command)\""
        case .tokensOnCommandLine: "run \"proxy import NAME < tokens.json\""
        case .notSupportedYet(_, let hint): hint
        }
    }
}
