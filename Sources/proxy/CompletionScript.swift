// Completion scripts for shells, made from the table of commands. They run nothing but
// "proxy completion names", which reads the configuration and prints names.

/// A shell that can be taught the commands.
enum CompletionScript: String, CaseIterable, Sendable {
    case bash, zsh, fish

    var text: String {
        let head =
            "# Completion of proxy for \(rawValue); \"proxy completion \(rawValue)\" made it.\n"
        return switch self {
        case .bash: head + Self.bash(CommandWords.all)
        // Its first line is how zsh knows what the file is for.
        case .zsh: "#compdef proxy\n" + head + Self.zsh(CommandWords.all)
        case .fish: head + Self.fish(CommandWords.all)
        }
    }

    // MARK: bash

    private static func bash(_ commands: [CommandWords]) -> String {
        // No list of words is given to "compgen -W" that somebody else could have written: it expands
        // what it is given.
        let names = commands.map(\.name).joined(separator: " ")
        var lines = [
            "_proxy_files() {",
            "    local IFS=$'\\n'",
            "    if type compopt &>/dev/null; then compopt -o filenames 2>/dev/null; fi",
            "    COMPREPLY=($(compgen \"$1\" -- \"$word\"))",
            "}",
            "_proxy() {",
            "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
            "    local command=${COMP_WORDS[1]} flags='' operands='' name",
            "    COMPREPLY=()",
            "    # \"--flag=value\" comes as three words.",
            "    if [[ $word == '=' ]]; then",
            "        word=",
            "    elif [[ $before == '=' ]]; then",
            "        before=${COMP_WORDS[COMP_CWORD-2]}",
            "    fi",
            "    if ((COMP_CWORD == 1)); then",
            "        COMPREPLY=($(compgen -W '\(names)' -- \"$word\"))",
            "        return",
            "    fi",
            "    case \"$command $before\" in",
        ]
        lines += bashValues(commands, .file, "_proxy_files -f")
        lines += bashValues(commands, .directory, "_proxy_files -d")
        lines += bashValues(commands, .program, "COMPREPLY=($(compgen -c -- \"$word\"))")
        lines += bashValues(commands, .text, nil)
        lines += ["    esac", "    case $command in"]
        for command in commands {
            var parts = ["flags='\(command.flags.map(\.name).joined(separator: " "))'"]
            switch command.operand {
            case .none: break
            case .credential: parts.append("operands=names")
            case .words(let words): parts.append("operands='\(words.joined(separator: " "))'")
            }
            lines.append("    \(command.name)) \(parts.joined(separator: "; ")) ;;")
        }
        lines += [
            "    esac",
            "    if [[ $word == -* ]]; then",
            "        COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))",
            "    elif [[ $operands == names ]]; then",
            "        while read -r name; do",
            "            [[ $name == \"$word\"* ]] && COMPREPLY+=(\"$name\")",
            "        done < <(\"$1\" completion names 2>/dev/null)",
            "    else",
            "        COMPREPLY=($(compgen -W \"$operands\" -- \"$word\"))",
            "    fi",
            "}",
            "complete -F _proxy proxy",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    /// One branch for all flags whose values are alike.
    private static func bashValues(
        _ commands: [CommandWords], _ value: CommandWords.Flag.Value, _ action: String?
    ) -> [String] {
        let patterns = commands.flatMap { command in
            command.flags.filter { $0.value == value }.map { "'\(command.name) \($0.name)'" }
        }
        guard !patterns.isEmpty else { return [] }
        return ["    \(patterns.joined(separator: " | ")))"]
            + (action.map { ["        \($0)"] } ?? []) + ["        return ;;"]
    }

    // MARK: zsh

    private static func zsh(_ commands: [CommandWords]) -> String {
        var lines = ["_proxy() {", "    local -a names known", "    if (( CURRENT == 2 )); then"]
        lines.append("        known=(")
        for command in commands {
            lines.append(
                "            " + quotedAlways(command.name + ":" + escaped(command.summary)))
        }
        lines += [
            "        )", "        _describe command known", "        return", "    fi",
            "    local program=$words[1]", "    shift words", "    (( CURRENT-- ))",
            "    case $words[1] in",
        ]
        for command in commands {
            lines.append("    \(command.name))")
            var specs = command.flags.map { quotedAlways(zshSpec($0)) }
            switch command.operand {
            case .none: break
            case .credential:
                lines.append("        names=(${(f)\"$($program completion names 2>/dev/null)\"})")
                specs.append("\"1:credential:($names)\"")
            case .words(let words): specs.append("'1:word:(\(words.joined(separator: " ")))'")
            }
            lines.append("        _arguments \\")
            lines.append(specs.map { "            \($0)" }.joined(separator: " \\\n") + " ;;")
        }
        lines += [
            "    esac", "}",
            "# Loaded by its name from $fpath, or by \"source\".",
            "if [[ $funcstack[1] == _proxy ]]; then _proxy \"$@\"; else compdef _proxy proxy; fi",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func zshSpec(_ flag: CommandWords.Flag) -> String {
        let text = escaped(flag.text)
        let head = (flag.isRepeatable ? "*" : "") + flag.name
        return switch flag.value {
        case .none: "\(head)[\(text)]"
        case .file: "\(head)=[\(text)]:file:_files"
        case .directory: "\(head)=[\(text)]:directory:_files -/"
        case .program: "\(head)=[\(text)]:command:_command_names -e"
        case .text: "\(head)=[\(text)]:\(flag.placeholder ?? "value"): "
        }
    }

    /// Brackets and colons part what zsh is told.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for letter in text {
            if "[]:\\".contains(letter) { escaped += "\\" }
            escaped.append(letter)
        }
        return escaped
    }

    // MARK: fish

    private static func fish(_ commands: [CommandWords]) -> String {
        var lines = [
            "function __proxy_is --argument-names command",
            "    set -l words (commandline -opc)",
            "    test (count $words) -ge 2; and test \"$words[2]\" = \"$command\"",
            "end",
            "complete -c proxy -f",
        ]
        for command in commands {
            lines.append(
                "complete -c proxy -n 'test (count (commandline -opc)) -eq 1' -a \(command.name)"
                    + " -d \(fishQuoted(command.summary))")
        }
        for command in commands {
            let start = "complete -c proxy -n '__proxy_is \(command.name)'"
            switch command.operand {
            case .none: break
            case .credential: lines.append("\(start) -a '(proxy completion names 2>/dev/null)'")
            case .words(let words): lines.append("\(start) -a '\(words.joined(separator: " "))'")
            }
            for flag in command.flags {
                let value =
                    switch flag.value {
                    case .none: ""
                    case .file: " -r -F"
                    case .directory: " -x -a '(__fish_complete_directories)'"
                    case .program: " -x -a '(__fish_complete_command)'"
                    case .text: " -x"
                    }
                lines.append(
                    "\(start) -l \(flag.name.dropFirst(2))\(value) -d \(fishQuoted(flag.text))")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func fishQuoted(_ text: String) -> String {
        var quoted = "'"
        for letter in text {
            if "'\\".contains(letter) { quoted += "\\" }
            quoted.append(letter)
        }
        return quoted + "'"
    }

    private static func quotedAlways(_ text: String) -> String {
        "'"
            + text.split(separator: "'", omittingEmptySubsequences: false).joined(
                separator: "'\\''")
            + "'"
    }
}
