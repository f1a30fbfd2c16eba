// Says what is waited for and for how long: counting down in one line on a terminal, once elsewhere.

import Vocabulary

/// One wait.
struct WaitLine: Sendable {
    let console: Console
    /// "waiting for the browser"
    let what: String
    let deadline: BootTime

    init(_ what: String, seconds: Int64, on console: Console) {
        self.console = console
        self.what = what
        deadline = SystemTime.bootTime().advanced(byMilliseconds: UInt64(max(0, seconds)) * 1000)
    }

    /// Until the task is cancelled.
    func run() async {
        guard console.errors.isTerminal else { return console.note(text) }
        while !Task.isCancelled {
            console.errors.write("\r\u{1B}[Kproxy: \(text) ")
            try? await Task.sleep(for: .seconds(1))
        }
        console.errors.write("\r\u{1B}[K")
    }

    private var text: String {
        let now = SystemTime.bootTime().milliseconds
        let left = deadline.milliseconds - min(now, deadline.milliseconds)
        return "\(what), \(durationText(seconds: Int64(left / 1000))) left"
    }
}
