// `proxy token`: for programs that cannot go through the proxy.

import AuthCore
import Bytes
import Configuration
import Crossing
import Vocabulary

/// Prints an access token that is good now.
struct TokenCommand: Command {
    static let help = CommandHelp(
        name: "token", summary: "print a fresh access token",
        examples: [
            .init("proxy token", "the token, refreshed first where it is about to expire"),
            .init("proxy token github --header", "the whole field, ready for curl -H"),
        ],
        synopsis: "[NAME] [--header]",
        flags: [.init("--header", "the field's name and prefix too")] + SettingsArguments.help,
        notes: [
            "A token that was printed can be copied. Where the configuration says \"export: false\" it is not printed; requests through the proxy still carry it."
        ])

    private let name: String?
    private let isHeader: Bool
    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        isHeader = try arguments.flag("--header")
        settings = try SettingsArguments(&arguments)
        name = try arguments.operand()
        try arguments.finish()
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let watch = SignalWatch.startFinishingRefresh(in: world)
        defer { watch.cancel() }
        let loaded = try world.settings(for: settings)
        let chosen = try loaded.credential(named: name, for: "token") { $0.isExportable }
        guard chosen.isExportable else {
            throw CommandFailure(
                .failure, "the configuration forbids to print the token of \"\(chosen.id)\"",
                hint: "send the request through \"proxy serve\", or set \"export: true\"")
        }
        let tools = try CredentialTools(loaded, for: settings, in: world)
        defer { tools.stop() }
        let credential = try await tools.ask(chosen, of: loaded) { keeper throws(Refusal) in
            try await keeper.credential(newerThan: .none)
        }
        guard !SignalWatch.hasArrived else { return .interrupted }
        let output = world.console.output
        if isHeader {
            // Behind the field stands its CR LF, behind a query parameter nothing.
            output.write(credential.line(chosen.injection).withoutLineEnd)
        } else {
            output.write(credential.token)
        }
        output.write("\n")
        return .success
    }
}

extension SecretBytes {
    fileprivate var withoutLineEnd: SecretBytes {
        withBytes { bytes in
            let end = bytes.lastIndex { $0 != 0x0D && $0 != 0x0A } ?? -1
            return SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[...end]))
        }
    }
}
