// Reads configurations written in tests, and shows what is wrong with them as a person sees it.

import Configuration
import Testing
import Vocabulary

let surroundings = Surroundings(
    environment: ["HOME": "/home/user"], directory: "/work", coreCount: 8)

func settings(
    _ text: String, file: String = "/etc/proxy/proxy.yaml",
    in surroundings: Surroundings = surroundings
) throws(ConfigurationError) -> Settings {
    try Settings.parse(Array(text.utf8), file: file, in: surroundings)
}

/// What `proxy` would print, one problem after another: `line:column: message | hint`, or without
/// place what concerns the file.
func problems(_ text: String) -> [String] {
    do {
        _ = try settings(text)
        return []
    } catch {
        return error.problems.map { problem in
            let text = "\(problem)".dropFirst("/etc/proxy/proxy.yaml:".count).drop { $0 == " " }
            return text + (problem.hint.map { " | \($0)" } ?? "")
        }
    }
}

/// The short form with more lines at the top and in the credential.
func short(_ settings: String = "", credential: String = "") -> String {
    """
    upstream: https://api.example.com
    credential:
      issuer: https://login.example.com
      client_id: my-cli
    \(credential.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))
    \(settings)
    """
}

extension Settings {
    /// The only credential as an OAuth client.
    var oauth: OAuthSettings {
        get throws {
            guard case .oauth(let oauth) = try #require(credentials.first).kind else {
                throw NotOAuth()
            }
            return oauth
        }
    }

    struct NotOAuth: Error {}
}
