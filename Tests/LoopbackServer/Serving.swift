// Blocking clients and running servers for the tests of this room.

import LoopbackServer
import Support

/// Runs the body on a thread of its own, so that it may block in system calls.
func blocking(_ body: () async throws -> Void) async rethrows {
    try await withTaskExecutorPreference(OwnThreadExecutor.shared, operation: body)
}

/// Answers with what it was asked.
let echo: ServerHandler = { request in
    let fields = request.fields.map { "\($0.name)=\($0.value)" }.joined(separator: "\n")
    return ServerResponse(
        status: 200,
        text: "\(request.method) \(request.path) ? \(request.query ?? "-")\n\(fields)\n\n"
            + String(decoding: request.body, as: UTF8.self))
}

let hello: ServerHandler = { _ in ServerResponse(status: 200, text: "hello") }
