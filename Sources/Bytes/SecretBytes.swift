// A secret: bytes that print as "[secret]", are compared in constant time and are zeroed when the
// last reference goes. It cannot stop a caller that copies the bytes out; callers copy only into
// what they send.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A credential, or a message that contains one.
package final class SecretBytes: Sendable {
    // SAFETY: written only in the initialiser, read-only until `deinit`; no pointer escapes
    // `withBytes`.
    private nonisolated(unsafe) let storage: UnsafeMutableRawBufferPointer

    /// Copies the bytes; the caller keeps and should wipe its own.
    package init(copying bytes: UnsafeRawBufferPointer) {
        storage = .allocate(byteCount: bytes.count, alignment: 1)
        storage.copyMemory(from: bytes)
    }

    package convenience init(_ bytes: [UInt8]) {
        self.init(bytes: bytes)
    }

    /// The UTF-8 form of a text. Texts in Swift cannot be wiped: use it where one exists already.
    package convenience init(_ text: String) {
        self.init(bytes: Array(text.utf8))
    }

    private convenience init(bytes: [UInt8]) {
        // An array's own pointer spares the copy through a generic buffer.
        var copy = bytes
        let count = copy.count
        self.init(count: count) { target in
            copy.withUnsafeMutableBytes { source in
                target.copyMemory(from: UnsafeRawBufferPointer(source))
                wipe(source)
            }
        }
    }

    /// Fills `count` fresh bytes in place.
    package init(count: Int, filledBy fill: (UnsafeMutableRawBufferPointer) -> Void) {
        storage = .allocate(byteCount: count, alignment: 1)
        fill(storage)
    }

    deinit {
        wipe(storage)
        storage.deallocate()
    }

    package var count: Int { storage.count }
    package var isEmpty: Bool { storage.isEmpty }

    /// Lends the bytes; the pointer must not outlive the call.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(storage))
    }
}

extension SecretBytes: Equatable {
    /// Constant time in the length of the operands; only their lengths can be learned.
    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        right.withBytes { left.equals($0) }
    }

    /// Constant-time comparison with bytes that a peer sent.
    package func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        guard storage.count == other.count else { return false }
        var difference: UInt8 = 0
        for index in 0..<other.count { difference |= storage[index] ^ other[index] }
        return difference == 0
    }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "[secret]" }
    package var debugDescription: String { "[secret]" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Overwrites bytes in a way that the optimiser may not remove (explicit_bzero(3)).
package func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
    guard let base = bytes.baseAddress else { return }
    #if canImport(Glibc)
        explicit_bzero(base, bytes.count)
    #else
        memset_s(base, bytes.count, 0, bytes.count)
    #endif
}
