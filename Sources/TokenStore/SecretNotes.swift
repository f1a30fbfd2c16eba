// TEMPORARY until the store's own lands.
package import Vocabulary

extension FileLoginStore {
    package func secretNote(_ name: String) async throws(StoreError) -> JSONValue? {
        try await disk.perform { () throws(StoreError) in
            guard let bytes = try open()?.read(name + ".secret", bytesMax: 1 << 20)
            else { return nil }
            return try? JSONReader.read(bytes, strings: .secret)
        }
    }
    package func saveSecretNote(_ name: String, _ document: JSONValue) async throws(StoreError) {
        try await disk.perform { () throws(StoreError) in
            guard let directory = try open(creating: true) else { return }
            try directory.commit(
                try directory.temporary(for: name, reserving: 0),
                JSONWriter.write(document, style: .indented), as: name + ".secret")
        }
    }
    package func removeSecretNote(_ name: String) async throws(StoreError) {
        try await disk.perform { () throws(StoreError) in try open()?.remove(name + ".secret") }
    }
}
