// `proxy demo`: the product, a provider and an API in one process, shown step by step.

import Demo
import LoopbackServer
import Vocabulary

/// Takes somebody through the life of a credential; every step is checked.
struct DemoCommand: Command {
    static let help = CommandHelp(
        name: "demo", summary: "see it work, with a built-in provider and API, without an account",
        examples: [
            .init("proxy demo", "the tour; on a terminal you log in yourself, in the browser"),
            .init("proxy demo --auto", "the same without anything to do, in ten seconds"),
            .init("proxy demo --stay --port 8080", "and then try it by hand with curl"),
        ],
        synopsis: "[--auto] [--stay] [--port N]",
        flags: [
            .init("--auto", "log in without a browser; so it is without a terminal, too"),
            .init("--stay", "keep everything running after the tour, until Ctrl-C"),
            .init("--port N", "where the proxy listens on 127.0.0.1; else a free port"),
        ],
        notes: [
            "Everything listens on this machine only, and nothing is left behind. It ends with 1 when a step did not do what it should."
        ])

    private let isAutomatic: Bool
    private let stays: Bool
    private let port: UInt16

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        isAutomatic = try arguments.flag("--auto")
        stays = try arguments.flag("--stay")
        port =
            try arguments.value(
                of: "--port", "N", as: { UInt16($0) }, expected: "a number up to 65535") ?? 0
        try arguments.finish()
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let signals = SignalWatch.start()
        let isAutomatic = isAutomatic || !world.isConversation
        let stage = try await DemoStage.set(isAutomatic: isAutomatic, port: port, in: world)
        let outcome = await SignalWatch.run(until: signals) { () -> CommandFailure? in
            do throws(CommandFailure) {
                try await DemoTour(stage, isAutomatic: isAutomatic, in: world).run()
                if stays {
                    DemoNarrator(world.console).farewell(of: stage)
                    await untilCancelled()
                } else {
                    DemoNarrator(world.console).farewell()
                }
                return nil
            } catch {
                return error
            }
        }
        await stage.strike()
        if SignalWatch.hasArrived { return stays && outcome == nil ? .success : .interrupted }
        if let outcome { throw outcome }
        return .success
    }
}

/// Returns when the task is cancelled.
private func untilCancelled() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    for await _ in stream {}
    _ = continuation
}
