// Who is let in, decided on a request's head before its body is read. The rules come from outside; this
// room keeps to them.

package import HTTPWire

/// What becomes of a request.
package enum HeadVerdict: Sendable {
    case welcome
    /// Answered like any other; the handler is told that the caller has not shown who they are.
    case stranger
    /// Answered so, and the connection ends.
    case turnedAway(ServerResponse)
}

/// The rules of one server.
package struct HeadGuard: Sendable {
    package typealias Judge =
        @Sendable (borrowing MessageHead, RequestTarget, UnsafeRawBufferPointer) -> HeadVerdict

    let judge: Judge
    /// Names of fields that no handler is given, in lower case: they may hold a secret.
    let consumedFields: [String]

    package init(consumedFields: [String], judge: @escaping Judge) {
        self.judge = judge
        self.consumedFields = consumedFields.map { $0.lowercased() }
    }
}
