// The certificate that a listener shows, and its successor when the files change. Reading them is for one
// thread of the control plane; workers only take what is there.

import Synchronization

/// A certificate chain with its key, in two PEM files.
package final class ServerIdentity: Sendable {
    package let certificateFile: String
    package let keyFile: String
    private let alpn: [String]
    private let current: Mutex<TLSContext>
    private let stamps: Mutex<[FileStamp]>

    package init(
        certificateFile: String, keyFile: String, alpn: [String] = ["http/1.1"]
    ) throws(TLSError) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.alpn = alpn
        stamps = Mutex(try Self.stamps(certificateFile, keyFile))
        current = Mutex(
            try TLSContext.server(certificateFile: certificateFile, keyFile: keyFile, alpn: alpn))
    }

    /// For the next connection; those that exist keep what they have.
    package var context: TLSContext { current.withLock { $0 } }

    /// Reads the files again if they have changed since they were last looked at, and says whether they
    /// had. When it throws, the old certificate stays in use until the files change once more.
    package func reloadIfChanged() throws(TLSError) -> Bool {
        let found = try Self.stamps(certificateFile, keyFile)
        let isNew = stamps.withLock { stamps in
            defer { stamps = found }
            return stamps != found
        }
        guard isNew else { return false }
        let fresh = try TLSContext.server(
            certificateFile: certificateFile, keyFile: keyFile, alpn: alpn)
        current.withLock { $0 = fresh }
        return true
    }

    private static func stamps(
        _ certificateFile: String, _ keyFile: String
    ) throws(TLSError) -> [FileStamp] {
        [try FileStamp(of: certificateFile), try FileStamp(of: keyFile)]
    }
}
