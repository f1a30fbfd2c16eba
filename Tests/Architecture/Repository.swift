// The repository as the architecture tests see it: the files that belong to the project, read as
// text. It changes nothing and starts nothing.

import Glibc
import Testing

/// A file by its path from the top, such as "Sources/Bytes/ASCII.swift".
struct ProjectFile: Comparable, CustomStringConvertible, CustomTestStringConvertible {
    let path: String

    var description: String { path }
    var testDescription: String { path }
    var name: String { String(path.split(separator: "/").last ?? "") }
    /// The folder under Sources or Tests; empty for files that lie in neither.
    var room: String {
        let parts = path.split(separator: "/")
        return parts.count > 2 && (parts[0] == "Sources" || parts[0] == "Tests")
            ? String(parts[1]) : ""
    }

    var isSwift: Bool { path.hasSuffix(".swift") }
    var isSource: Bool { path.hasPrefix("Sources/") }

    /// Nil where the file is no UTF-8 text.
    var text: String? {
        guard let file = fopen(Repository.root + "/" + path, "re") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&piece, 1, piece.count, file)
            if count == 0 { break }
            bytes += piece[..<count]
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Without the line feeds; a last line that lacks its own counts too.
    var lines: [Substring] { (text ?? "").split(separator: "\n", omittingEmptySubsequences: false) }

    static func < (left: ProjectFile, right: ProjectFile) -> Bool { left.path < right.path }
}

enum Repository {
    /// Found from where this file was compiled, so that the tests may run in any folder.
    static let root = String(
        #filePath.prefix(#filePath.count - "/Tests/Architecture/Repository.swift".count))

    /// What a build or a tool leaves behind; .gitignore names the same.
    private static let leftovers: Set<String> = [".git", ".build", ".venv", "__pycache__"]

    /// Names at the top of the repository, folders without a file left out.
    static let topLevel: [String] =
        names(in: "").filter { !files(under: $0).isEmpty }.sorted()

    /// Every file of the project.
    static let files: [ProjectFile] = names(in: "").flatMap { files(under: $0) }.sorted()

    static let sources = files.filter { $0.isSource && $0.isSwift }
    static let swift = files.filter { $0.isSwift }

    /// A file that need not exist.
    static func file(_ path: String) -> ProjectFile? { files.first { $0.path == path } }

    private static func names(in folder: String) -> [String] {
        let path = folder.isEmpty ? root : root + "/" + folder
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let isOurs = name != "." && name != ".." && !leftovers.contains(name)
            if isOurs && !name.hasSuffix(".pyc") { names.append(name) }
        }
        return names
    }

    private static func files(under path: String) -> [ProjectFile] {
        var status = stat()
        guard stat(root + "/" + path, &status) == 0 else { return [] }
        guard status.st_mode & S_IFMT == S_IFDIR else { return [ProjectFile(path: path)] }
        return names(in: path).flatMap { files(under: path + "/" + $0) }
    }
}
