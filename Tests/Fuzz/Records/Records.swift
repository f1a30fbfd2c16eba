// Feeds the readers of what lies in the store: sealed records, what is in them, keys as text. Whatever somebody
// has done to a file, it is read as what was written or refused; nothing that our key did not seal is opened.

import Bytes
import Crypto
import TokenStore
import Vocabulary

private let keyring = Keyring(
    sealing: .key(SecretBytes([UInt8](repeating: 7, count: 32))), opening: nil, cost: .standard)
private let key = SealingKey(SecretBytes([UInt8](repeating: 9, count: 32)))!

/// The first byte chooses the reader.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard let kind = input.first else { return 0 }
    let bytes = UnsafeRawBufferPointer(rebasing: input[1...])
    switch kind % 5 {
    case 0: envelope(bytes)
    case 1: seal(bytes)
    case 2: login(bytes)
    case 3: box(bytes)
    default: _ = StoreKey.read(SecretBytes(copying: bytes))
    }
    return 0
}

/// What nobody sealed is given back as it is, for the record's own reader, or refused.
private func envelope(_ bytes: UnsafeRawBufferPointer) {
    let record = SecretBytes(copying: bytes)
    guard let opened = try? keyring.open(record, name: "a.json", path: "a.json") else { return }
    precondition(opened == record, "nobody has sealed it")
}

/// Seals the input, changes one byte of the file where the input says, and opens it.
private func seal(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count > 3 else { return }
    let plain = SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[3...]))
    let sealed = keyring.seal(plain, name: "a.json")
    precondition((try? keyring.open(sealed, name: "a.json", path: "")) == plain, "as it was")
    precondition((try? keyring.open(sealed, name: "b.json", path: "")) == nil, "of another name")
    var changed = sealed.withBytes { Array($0) }
    let place = (Int(bytes[0]) << 8 | Int(bytes[1])) % changed.count
    changed[place] ^= bytes[2]
    let file = SecretBytes(changed)
    guard let opened = try? keyring.open(file, name: "a.json", path: "") else { return }
    precondition(opened == plain || opened == file, "what was sealed, or no sealed record at all")
}

private func login(_ bytes: UnsafeRawBufferPointer) {
    guard let login = try? Login(SecretBytes(copying: bytes), path: "") else { return }
    let written = JSONWriter.write(login.document, style: .indented)
    guard let again = try? Login(written, path: "") else {
        preconditionFailure("what was written is read")
    }
    precondition(JSONWriter.write(again.document, style: .indented) == written, "and is the same")
}

private func box(_ bytes: UnsafeRawBufferPointer) {
    precondition(SealedBox.open(bytes, key: key, associatedData: []) == nil, "nobody sealed it")
}
