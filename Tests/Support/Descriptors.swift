// Descriptors that no child process inherits. The flag is set after the fact, which would race with a
// fork; ChildProcess closes everything from 3 up before it executes, so that the race is harmless.

import Glibc

enum Descriptors {
    static func closeOnExec(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    static func pipe() throws -> (reader: Int32, writer: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw Failure.last("pipe") }
        for end in ends { closeOnExec(end) }
        return (ends[0], ends[1])
    }
}
