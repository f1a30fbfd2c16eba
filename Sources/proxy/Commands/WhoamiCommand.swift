// `proxy whoami`: whose login it is.

import AuthCore
import Configuration
import Crossing
import OAuth
import Vocabulary

/// Prints what the ID token and the provider's userinfo say; a token that is about to expire is
/// refreshed first.
struct WhoamiCommand: Command {
    static let help = CommandHelp(
        name: "whoami", summary: "show who is logged in",
        examples: [
            .init("proxy whoami", "the person, as the provider names them"),
            .init("proxy whoami github --json", "every claim, for programs"),
        ],
        synopsis: "[NAME] [--json]",
        flags: [.init("--json", "for programs")] + SettingsArguments.help,
        notes: [
            "It fails when userinfo speaks of another person than the ID token.",
            "No token is printed.",
        ])

    private let name: String?
    private let isJSON: Bool
    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        isJSON = try arguments.flag("--json")
        settings = try SettingsArguments(&arguments)
        name = try arguments.operand()
        try arguments.finish()
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let watch = SignalWatch.startFinishingRefresh(in: world)
        defer { watch.cancel() }
        let loaded = try world.settings(for: settings)
        let chosen = try loaded.credential(named: name, for: "whoami") { $0.isLogin }
        guard chosen.isLogin else {
            throw CommandFailure(
                .failure, "\"\(chosen.id)\" is no login, so it is nobody's",
                hint: "\"proxy status\" shows what it is")
        }
        let tools = try CredentialTools(loaded, for: settings, in: world)
        defer { tools.stop() }
        let identity = try await identity(chosen, of: loaded, by: tools)
        guard !SignalWatch.hasArrived else { return .interrupted }
        if isJSON {
            world.console.json(identity.document(chosen.id))
        } else {
            for line in identity.lines(chosen.id, now: SystemTime().wallTime()) {
                world.console.line(line)
            }
        }
        return .success
    }

    private func identity(
        _ chosen: CredentialSettings, of settings: Settings, by tools: CredentialTools
    ) async throws(CommandFailure) -> Identity {
        let discovery = DiscoveryDesk(in: tools.surroundings)
        let credential = try await tools.ask(chosen, of: settings, discovery: discovery) {
            keeper throws(Refusal) in
            try await keeper.credential(newerThan: .none)
        }
        do throws(WhoamiFailure) {
            return try await IdentityDesk(discovery: discovery, in: tools.surroundings)
                .identity(of: chosen, credential: credential.token)
        } catch {
            throw CommandFailure(.failure, error.message, hint: error.hint)
        }
    }
}

extension CredentialSettings {
    fileprivate var isLogin: Bool { if case .oauth = kind { true } else { false } }
}

extension Identity {
    fileprivate func document(_ id: CredentialID) -> JSONValue {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        let token: JSONValue =
            claims.map { claims in
                [
                    "verified": .bool(isVerified), "problem": text(flaw),
                    "claims": .object(claims),
                ]
            } ?? .null
        let info: JSONValue =
            userInfo.map { info in
                ["signed": .bool(info.isSigned), "claims": .object(info.claims)]
            } ?? .null
        return [
            "name": .string(id.name), "subject": text(subject), "issuer": text(issuer),
            "id_token": token, "userinfo": info,
        ]
    }

    fileprivate func lines(_ id: CredentialID, now: WallTime) -> [String] {
        let margin = String(repeating: " ", count: id.name.count + 2)
        var lines = ["\(id.name)  \(subject ?? "somebody without a name")"]
        if let issuer { lines.append("\(margin)provider: \(issuer)") }
        if claims != nil { lines.append("\(margin)ID token: \(tokenText(now: now))") }
        lines += Self.members(claims, margin: margin + "  ")
        if let userInfo {
            lines.append(
                "\(margin)userinfo:" + (userInfo.isSigned ? " signed by the provider" : ""))
            lines += Self.members(userInfo.claims, margin: margin + "  ")
        }
        return lines
    }

    private func tokenText(now: WallTime) -> String {
        var text =
            flaw
            ?? (isVerified ? "signed by the provider" : "signature not checked, no key is known")
        if let expiresAt {
            let seconds = expiresAt.seconds - now.seconds
            text +=
                seconds > 0
                ? ", expires in \(durationText(seconds: seconds))"
                : ", expired \(durationText(seconds: -seconds)) ago"
        }
        return text
    }

    /// What is said of the person; what is of the token itself is left to --json.
    private static func members(_ claims: JSONObject?, margin: String) -> [String] {
        (claims?.members ?? []).filter { !aboutToken.contains($0.name) }.map { member in
            let value = member.value.asString ?? JSONWriter.redactedText(member.value)
            return "\(margin)\(member.name): \(value)"
        }
    }

    private static let aboutToken: Set<String> = [
        "iss", "sub", "aud", "azp", "exp", "iat", "nbf", "nonce", "jti", "at_hash", "c_hash",
        "s_hash", "sid", "typ", "ver",
    ]
}
