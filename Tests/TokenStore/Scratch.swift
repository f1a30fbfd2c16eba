// A directory of its own for each test, and logins to put there.

import Bytes
import TokenStore
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Removed, with all that is in it, when the last reference goes.
final class Scratch: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/token-store-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
    }

    deinit { Self.removeAll(path) }

    /// Where a store would be: not there yet.
    var state: String { path + "/state/credential-proxy" }

    var store: FileLoginStore { FileLoginStore(directory: state) }

    func file(_ name: String) -> String { state + "/" + name }

    static func removeAll(_ path: String) {
        chmod(path, 0o700)
        if let stream = opendir(path) {
            while let entry = readdir(stream) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                guard name != ".", name != ".." else { continue }
                if unlink(path + "/" + name) != 0 { removeAll(path + "/" + name) }
            }
            closedir(stream)
        }
        rmdir(path)
    }
}

/// What the child of an exit test must know: closures of exit tests capture nothing before Swift 6.3.
/// Each test uses a name of its own, one case at a time.
enum Handover {
    static func give(_ words: String..., as name: String) {
        write(words.joined(separator: "\n"), to: path(name, of: getpid()))
    }

    /// In the child.
    static func take(_ name: String) -> [String] {
        let path = path(name, of: getppid())
        defer { unlink(path) }
        return (contents(path) ?? "").split(separator: "\n").map(String.init)
    }

    private static func path(_ name: String, of process: pid_t) -> String {
        "/tmp/token-store-\(process)-\(name)"
    }
}

let github = CredentialID("github")!

func sampleLogin(_ token: String = "AT1", refresh: String? = "RT1") -> Login {
    var login = Login(clientID: "my-cli", obtainedAt: WallTime(seconds: 1_700_000_000))
    login.issuer = "https://login.example.com"
    login.accessToken = SecretBytes(token)
    login.expiresAt = WallTime(seconds: 1_700_003_600)
    login.refreshToken = refresh.map { SecretBytes($0) }
    login.scope = "openid offline_access"
    return login
}

extension Login {
    var access: String? { accessToken.map(reveal) }
    var refresh: String? { refreshToken.map(reveal) }
}

func reveal(_ secret: SecretBytes) -> String {
    secret.withBytes { String(decoding: $0, as: UTF8.self) }
}

func contents(_ path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    while case let byte = fgetc(file), byte != EOF { bytes.append(UInt8(byte)) }
    return String(decoding: bytes, as: UTF8.self)
}

func write(_ text: String, to path: String, mode: mode_t = 0o600) {
    write(Array(text.utf8), to: path, mode: mode)
}

func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) {
    let file = fopen(path, "w")!
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
    chmod(path, mode)
}

func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

func names(_ path: String) -> [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
}
