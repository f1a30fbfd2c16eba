// A Chromium that is driven over pipes by the DevTools protocol: it opens pages, is told what to look at and
// clicks as a person does. Commands go one at a time, and whatever it says in between is passed over.

import Glibc
import Support

/// One browser with one page; killed when dropped.
final class Chromium {
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    private let profile: TemporaryDirectory
    private let child: ChildProcess
    private let commands: Int32
    private let answers: Int32
    private var buffer: [UInt8] = []
    private var count = 0
    private var session = ""

    init() throws {
        profile = try TemporaryDirectory()
        let (input, output) = (profile.path("commands"), profile.path("answers"))
        guard mkfifo(input, 0o600) == 0, mkfifo(output, 0o600) == 0 else {
            throw Failed(description: "mkfifo failed")
        }
        // Both ends here, so that neither side waits for the other to open.
        commands = Glibc.open(input, O_RDWR | O_CLOEXEC)
        answers = Glibc.open(output, O_RDWR | O_CLOEXEC)
        child = try ChildProcess(
            [
                "/bin/sh", "-c", "exec \"$@\" 3<\"$0\" 4>\(output)", input,
                "/usr/bin/chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
                "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
                "--hide-scrollbars", "--remote-debugging-pipe",
                "--user-data-dir=\(profile.path("profile"))", "about:blank",
            ],
            environment: ["PATH": "/usr/bin:/bin", "HOME": profile.path, "LANG": "C.UTF-8"],
            directory: profile.path)
        let targets = try call("Target.getTargets")
        guard let page = Self.text(of: "targetId", in: targets, behind: "\"type\":\"page\"") else {
            throw Failed(description: "no page: \(targets)")
        }
        let attached = try call(
            "Target.attachToTarget", "{\"targetId\":\(jsonText(page)),\"flatten\":true}")
        session = Self.text(of: "sessionId", in: attached) ?? ""
        try call("Page.enable")
    }

    deinit {
        child.kill(SIGKILL, wholeGroup: true)
        Glibc.close(commands)
        Glibc.close(answers)
    }

    // MARK: What a person does

    func open(_ url: String) throws {
        try call("Page.navigate", "{\"url\":\(jsonText(url))}")
    }

    /// Waits until an expression of the page's is true.
    func wait(for what: String, _ condition: String, within limit: Duration = .seconds(30)) throws {
        do {
            try waited(for: what, within: limit) {
                try evaluate("String(Boolean(\(condition)))") == "true" ? () : nil
            }
        } catch {
            throw Failed(
                description: "\(error); the page says: \(try evaluate("document.body.innerText"))")
        }
    }

    /// Waits for words on the page.
    func wait(forText text: String) throws {
        try wait(for: text, "document.body && document.body.innerText.includes(\(jsonText(text)))")
    }

    /// Clicks in the middle of what a selector finds, with the mouse.
    func click(_ selector: String) throws {
        try wait(for: selector, "document.querySelector(\(jsonText(selector)))")
        let place = try evaluate(
            """
            (() => { const e = document.querySelector(\(jsonText(selector)));
            e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();
            return (b.x + b.width / 2) + ',' + (b.y + b.height / 2); })()
            """
        ).components(separatedBy: ",")
        for kind in ["mousePressed", "mouseReleased"] {
            try call(
                "Input.dispatchMouseEvent",
                "{\"type\":\"\(kind)\",\"x\":\(place[0]),\"y\":\(place[1]),\"button\":\"left\",\"clickCount\":1}"
            )
        }
    }

    /// The string that an expression gives; empty while there is no page to ask.
    func evaluate(_ expression: String) throws -> String {
        do {
            let answer = try call(
                "Runtime.evaluate",
                "{\"returnByValue\":true,\"expression\":\(jsonText(expression))}")
            return Self.text(of: "value", in: answer) ?? ""
        } catch let error as Failed
            where error.description.contains("context")
            || error.description.contains("target navigated")
        {
            return ""
        }
    }

    var text: String { get throws { try evaluate("document.body.innerText") } }

    // MARK: How it looks

    func show(width: Int, height: Int, isDark: Bool) throws {
        try call(
            "Emulation.setDeviceMetricsOverride",
            "{\"width\":\(width),\"height\":\(height),\"deviceScaleFactor\":1,\"mobile\":false}")
        try call(
            "Emulation.setEmulatedMedia",
            "{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"\(isDark ? "dark" : "light")\"}]}"
        )
    }

    func allowScripts(_ isAllowed: Bool) throws {
        try call("Emulation.setScriptExecutionDisabled", "{\"value\":\(!isAllowed)}")
    }

    /// The whole page as PNG in Base64.
    func screenshot() throws -> String {
        Self.text(
            of: "data", in: try call("Page.captureScreenshot", "{\"captureBeyondViewport\":true}"))
            ?? ""
    }

    // MARK: The protocol

    @discardableResult
    private func call(_ method: String, _ parameters: String = "{}") throws -> String {
        count += 1
        let address = session.isEmpty ? "" : ",\"sessionId\":\(jsonText(session))"
        let message =
            "{\"id\":\(count),\"method\":\"\(method)\",\"params\":\(parameters)\(address)}"
        var rest = Array(message.utf8)[...] + [0]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { write(commands, $0.baseAddress, $0.count) }
            guard written > 0 else { throw Failed(description: "the browser takes no command") }
            rest = rest.dropFirst(written)
        }
        let deadline = Deadline.after(.seconds(60))
        while true {
            let answer = try nextMessage(until: deadline)
            guard answer.hasPrefix("{\"id\":\(count),") else { continue }
            if answer.contains("\"error\":{") {
                throw Failed(description: "\(method): \(answer.prefix(300))")
            }
            return answer
        }
    }

    private func nextMessage(until deadline: Deadline) throws -> String {
        while true {
            if let end = buffer.firstIndex(of: 0) {
                defer { buffer.removeFirst(end + 1) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            var entry = pollfd(fd: answers, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, deadline.milliseconds) > 0 else {
                throw Failed(
                    description:
                        "the browser does not answer: \(child.printed(.error).text.suffix(500))")
            }
            var part = [UInt8](repeating: 0, count: 65_536)
            let got = part.withUnsafeMutableBytes { read(answers, $0.baseAddress, $0.count) }
            guard got > 0 else { throw Failed(description: "the browser is gone") }
            buffer += part[..<got]
        }
    }

    /// The text of a member, of the last object before that has it where a mark is given.
    private static func text(of name: String, in json: String, behind mark: String? = nil)
        -> String?
    {
        var json = json
        if let mark {
            let parts = json.components(separatedBy: mark)
            guard parts.count > 1, let start = parts[0].components(separatedBy: "{").last else {
                return nil
            }
            json = "{" + start + parts[1]
        }
        let parts = json.components(separatedBy: "\"\(name)\":\"")
        guard parts.count > 1 else { return nil }
        return unquoted(parts.dropFirst().joined(separator: "\"\(name)\":\""))
    }

    /// A JSON string up to its closing quote.
    private static func unquoted(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        var scalars = text.unicodeScalars.makeIterator()
        while let next = scalars.next(), next != "\"" {
            guard next == "\\" else {
                result.append(next)
                continue
            }
            switch scalars.next() {
            case "n": result.append("\n")
            case "t": result.append("\t")
            case "u":
                var digits = ""
                for _ in 0..<4 {
                    if let digit = scalars.next() { digits.unicodeScalars.append(digit) }
                }
                if let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) {
                    result.append(scalar)
                }
            case let other?: result.append(other)
            case nil: break
            }
        }
        return String(result)
    }
}
