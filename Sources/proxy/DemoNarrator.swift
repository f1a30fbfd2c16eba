// What the demo says: headings, the curl command that a step amounts to, and what came back.

import Bytes
import Demo
import Vocabulary

/// Writes the tour on standard output.
struct DemoNarrator: Sendable {
    private let console: Console

    init(_ console: Console) {
        self.console = console
    }

    func opening(of stage: DemoStage) {
        say(
            """
            Credential Proxy forwards requests and attaches a fresh credential on the way.

            For this tour three things run on this machine, in this process:
              \(stage.servers.issuer)  a provider, where people log in; its access tokens
                                      live for \(DemoStage.accessTokenSeconds) seconds, its refresh tokens serve once
              \(stage.servers.api)  an API that wants an access token of that provider
              \(stage.address)  the proxy in front of the API, with this configuration:

            """)
        for line in stage.configuration.split(separator: "\n") { console.line("    \(line)") }
    }

    func heading(_ number: Int, _ text: String) {
        say("\n\(number). \(text)\n")
    }

    func command(_ text: String) {
        console.line("   $ \(text)")
    }

    func answer(_ response: InboundResponse) {
        let body = response.body.withBytes { String(decoding: $0, as: UTF8.self) }
        console.line("   \(response.status)  \(excerpt(body))")
    }

    func remark(_ text: String) {
        console.line()
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            console.line("   \(line)")
        }
    }

    /// What the API saw: tokens by fingerprint, so that one sees them change.
    func seen(_ requests: [SeenRequest]) {
        for request in requests {
            console.line(
                "   the API saw: \(request.method) \(request.target), token "
                    + "\(request.tokenFingerprint ?? "none"), answered \(request.status)")
        }
    }

    func waiting(_ text: String) {
        console.line("   ... \(text)")
    }

    // MARK: The end

    /// After a tour that ends.
    func farewell() {
        say(
            """

            That was all. To go on by hand, keep it running:

                proxy demo --stay --port 8080

            and in another terminal:

            """)
        commands("http://127.0.0.1:8080")
        say(
            """

            For your own API, "proxy help serve" has the flags.
            """)
    }

    /// Before everything stays.
    func farewell(of stage: DemoStage) {
        say(
            """

            Everything keeps running until Ctrl-C. In another terminal:

            """)
        commands(stage.address)
        say(
            """

            Its status page, for a browser:

                \(stage.statusPage)

            This proxy's configuration, for "proxy status" and "proxy token":

                proxy status --config \(stage.configurationFile)
            """)
    }

    private func commands(_ address: String) {
        say(
            """
                curl -i \(address)/v1/me
                curl -i -d 'remember the milk' \(address)/v1/notes
                curl -N '\(address)/events?count=5&interval=1000'
            """)
    }

    private func say(_ text: String) {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            console.line(String(line))
        }
    }

    /// One line of it, cut where it is long.
    private func excerpt(_ body: String) -> String {
        let line = body.split(whereSeparator: \.isNewline).joined(separator: " ")
        return line.count > 300 ? line.prefix(300) + "..." : line
    }
}
