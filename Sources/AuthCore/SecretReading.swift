// Secrets from files, variables and programs, read each time that one is needed, since all of them
// are rotated under running processes. One trailing line break and a byte order mark are cut; control
// characters inside are refused with the source's name. Spaces belong to a secret.

package import Bytes
import Dispatch
import OAuth
import TokenStore
package import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Why a source of a secret has none; no case holds a byte of it.
package enum SecretError: Error, Hashable, Sendable {
    case fileUnreadable(path: String, code: Int32)
    case notAFile(path: String)
    case variableMissing(name: String)
    case empty(source: String)
    case tooLarge(source: String, bytesMax: Int)
    /// A control character, or, in what becomes a field's value, anything but visible ASCII.
    case unusableCharacter(source: String, at: Int)
    case program(ProgramError)
    /// JSON without an `access_token`.
    case noToken(source: String)
    /// JSON in a token's place, or JSON that cannot be read.
    case looksLikeJSON(source: String)
    /// A sentence, or a token with its scheme.
    case severalWords(source: String)
    /// Neither a private key nor a key file, or one that does not fit what is signed with it.
    case unusableKey(source: String, reason: String)
}

extension SecretError {
    /// One line.
    package var message: String {
        switch self {
        case .fileUnreadable(let path, let code):
            "cannot read \"\(path)\": \(String(cString: strerror(code)))"
        case .notAFile(let path): "\"\(path)\" is no regular file"
        case .variableMissing(let name): "the environment variable \(name) is not set"
        case .empty(let source): "\(source) is empty"
        case .tooLarge(let source, let bytesMax): "\(source) is larger than \(bytesMax) bytes"
        case .unusableCharacter(let source, let offset):
            "\(source) has a character at byte \(offset) that cannot be part of a secret"
        case .program(let error): error.message
        case .noToken(let source): "\(source) gives JSON without an \"access_token\""
        case .looksLikeJSON(let source):
            "\(source) looks like JSON and cannot be used as it is; give the token alone"
        case .severalWords(let source):
            "\(source) has a space inside, which no bearer token has; give the token alone, "
                + "without \"Bearer\""
        case .unusableKey(let source, let reason): "\(source) cannot be used: \(reason)"
        }
    }
}

/// The rules for all secrets.
enum SecretText {
    static let bytesMax = 64 << 10

    /// - Parameter source: names the source in an error, such as `"/run/secret"`.
    static func trimmed(_ bytes: SecretBytes, source: String) throws(SecretError) -> SecretBytes {
        guard bytes.count <= bytesMax else { throw .tooLarge(source: source, bytesMax: bytesMax) }
        return try bytes.withBytes { bytes throws(SecretError) in
            var kept = bytes[...]
            if kept.starts(with: [0xEF, 0xBB, 0xBF]) { kept = kept.dropFirst(3) }
            if kept.last == ASCII.lineFeed { kept = kept.dropLast() }
            if kept.last == ASCII.carriageReturn { kept = kept.dropLast() }
            guard !kept.isEmpty else { throw .empty(source: source) }
            if let offset = kept.firstIndex(where: { $0 < 0x20 || $0 == 0x7F }) {
                throw .unusableCharacter(source: source, at: offset)
            }
            return SecretBytes(copying: UnsafeRawBufferPointer(rebasing: kept))
        }
    }

    /// What goes upstream as a credential must not be something else by mistake: a document with more
    /// secrets in it, a message, or a token that has its scheme already (RFC 6750 section 2.1).
    static func credential(
        _ bytes: SecretBytes, source: String, for injection: Injection
    ) throws(SecretError) -> SecretBytes {
        let isBearer = injection.form == .token && injection.prefix.lowercased() == "bearer "
        // A password may look like anything, but for what a token endpoint has said.
        guard !looksLikeJSON(bytes) || !(isBearer || namesTokens(bytes)) else {
            throw .looksLikeJSON(source: source)
        }
        let token = try token(bytes, source: source)
        let hasBlank = token.withBytes { $0.contains { $0 == ASCII.space || $0 == ASCII.tab } }
        guard !isBearer || !hasBlank else { throw .severalWords(source: source) }
        return token
    }

    private static func looksLikeJSON(_ bytes: SecretBytes) -> Bool {
        bytes.withBytes { bytes in
            let isBlank: (UInt8) -> Bool = { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }
            let text = bytes.drop(while: isBlank)
            switch text.first {
            case 0x7B, 0x5B: return text.contains(ASCII.quote)
            case ASCII.quote: return text.dropFirst().last { !isBlank($0) } == ASCII.quote
            default: return false
            }
        }
    }

    private static func namesTokens(_ bytes: SecretBytes) -> Bool {
        bytes.withBytes { bytes in
            ["access_token", "refresh_token", "id_token"].contains { name in
                bytes.indices.contains { bytes[$0...].starts(with: name.utf8) }
            }
        }
    }

    /// The stricter rule for a token: it must fit a field's value.
    static func token(_ bytes: SecretBytes, source: String) throws(SecretError) -> SecretBytes {
        let token = try trimmed(bytes, source: source)
        guard Credential.isFieldValue(token) else {
            let offset = token.withBytes { bytes in
                bytes.firstIndex { !(0x21..<0x7F).contains($0) } ?? 0
            }
            throw .unusableCharacter(source: source, at: offset)
        }
        return token
    }
}

extension SecretSource {
    /// What errors call it.
    package var name: String {
        switch self {
        case .file(let path): "\"\(path)\""
        case .environment(let name): "the environment variable \(name)"
        case .command(let arguments): "the output of \"\(arguments.first ?? "")\""
        case .known: "the registered secret"
        }
    }

    /// The secret, trimmed and checked.
    package func read(in surroundings: Surroundings) async throws(SecretError) -> SecretBytes {
        try SecretText.trimmed(try await readRaw(in: surroundings), source: name)
    }

    /// What goes upstream in that form, as requests have it.
    package func readCredential(
        for injection: Injection, in surroundings: Surroundings
    ) async throws(SecretError) -> SecretBytes {
        try SecretText.credential(
            try await readRaw(in: surroundings), source: name, for: injection)
    }

    /// The bytes as they are, for what has several lines: a key, a key file.
    package func readWhole(in surroundings: Surroundings) async throws(SecretError) -> SecretBytes {
        let bytes = try await readRaw(in: surroundings)
        guard !bytes.isEmpty else { throw .empty(source: name) }
        return bytes
    }

    /// - Parameter variables: for a program, besides what it inherits.
    func readRaw(
        in surroundings: Surroundings, telling variables: [String: String] = [:]
    ) async throws(SecretError) -> SecretBytes {
        switch self {
        case .file(let path): return try await SecretFile.read(path)
        case .environment(let name):
            guard let value = surroundings.environment[name] else {
                throw .variableMissing(name: name)
            }
            return SecretBytes(value)
        case .known(let secret): return secret
        case .command(let arguments):
            do throws(ProgramError) {
                let environment = surroundings.cleanEnvironment.merging(variables) { $1 }
                return try await Program(arguments, environment: environment).output()
            } catch {
                throw .program(error)
            }
        }
    }
}

/// A file that others write: followed through links, as secrets are mounted.
enum SecretFile {
    private static let queue = DispatchQueue(label: "secret-files")

    static func read(_ path: String) async throws(SecretError) -> SecretBytes {
        let result: Result<SecretBytes, SecretError> = await withCheckedContinuation { waiting in
            queue.async {
                do throws(SecretError) {
                    waiting.resume(returning: .success(try readBlocking(path)))
                } catch {
                    waiting.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    static func stamp(_ path: String) async -> FileStamp? {
        await withCheckedContinuation { waiting in
            queue.async { waiting.resume(returning: FileStamp(following: path)) }
        }
    }

    private static func readBlocking(_ path: String) throws(SecretError) -> SecretBytes {
        // A pipe in the file's place must not hang us.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .fileUnreadable(path: path, code: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .notAFile(path: path)
        }
        var block = [UInt8](repeating: 0, count: SecretText.bytesMax + 1)
        defer { block.withUnsafeMutableBytes { wipe($0) } }
        var filled = 0
        while filled < block.count {
            let taken = block.withUnsafeMutableBytes { target in
                Self.read(descriptor, UnsafeMutableRawBufferPointer(rebasing: target[filled...]))
            }
            if taken < 0 && errno == EINTR { continue }
            guard taken >= 0 else { throw .fileUnreadable(path: path, code: errno) }
            guard taken > 0 else { break }
            filled += taken
        }
        guard filled <= SecretText.bytesMax else {
            throw .tooLarge(source: "\"\(path)\"", bytesMax: SecretText.bytesMax)
        }
        return block.withUnsafeBytes { SecretBytes(copying: .init(rebasing: $0[..<filled])) }
    }

    private static func read(_ descriptor: Int32, _ target: UnsafeMutableRawBufferPointer) -> Int {
        #if canImport(Glibc)
            Glibc.read(descriptor, target.baseAddress, target.count)
        #else
            Darwin.read(descriptor, target.baseAddress, target.count)
        #endif
    }
}
