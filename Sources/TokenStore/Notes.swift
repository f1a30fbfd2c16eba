// Small documents beside the logins that hold no secret: what the daemon last saw, provider
// metadata worth keeping over a restart. Losing one costs a request, so nothing here locks.

package import Vocabulary

extension FileLoginStore {
    private static var noteBytesMax: Int { 1 << 20 }

    /// The document of that name, or nil when there is none that can be read.
    package func note(_ name: String) async -> JSONValue? {
        try? await disk.perform { () throws(StoreError) in
            guard let bytes = try open()?.read(name + ".note", bytesMax: Self.noteBytesMax)
            else { return nil }
            return try? JSONReader.read(bytes, strings: .plain)
        }
    }

    /// Replaces the document whole. `name` must serve as a file's name.
    package func saveNote(_ name: String, _ document: JSONValue) async throws(StoreError) {
        precondition(!name.utf8.contains(0x2F) && !name.hasPrefix("."), "no name for a file")
        try await disk.perform { () throws(StoreError) in
            guard let directory = try open(creating: true) else { return }
            let file = name + ".note"
            // Left by writers that died; a live one among them would only have to write again.
            for left in try directory.names({ TemporaryFile.isTemporary($0, of: file) }) {
                try directory.remove(left)
            }
            try directory.commit(
                try directory.temporary(for: file, reserving: 0),
                JSONWriter.write(document, style: .indented), as: file)
        }
    }
}
