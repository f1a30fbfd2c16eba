// How the files of Tests/Vectors write bytes that a text cannot hold; README.md there has the format.

import Glibc

/// The lines of a file of vectors, without empty ones.
package func vectorLines(_ file: String) -> [String] {
    var folder = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    folder.removeLast(2)
    let path = folder.joined(separator: "/") + "/Vectors/" + file
    guard let file = fopen(path, "r") else { preconditionFailure("cannot open \(path)") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    while case let byte = getc(file), byte != EOF { bytes.append(UInt8(byte)) }
    return bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
}

/// The bytes that a line stands for.
///
/// - Parameter port: what `\P` stands for.
package func oddBytes(_ line: some StringProtocol, port: UInt16 = 0) -> Octets {
    var bytes: [UInt8] = []
    var rest = line.utf8[...]
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "\\") else {
            bytes.append(byte)
            continue
        }
        switch rest.popFirst() {
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "0"): bytes.append(0)
        case UInt8(ascii: "\\"): bytes.append(0x5C)
        case UInt8(ascii: "P"): bytes += Array("\(port)".utf8)
        case UInt8(ascii: "x"):
            guard let byte = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { preconditionFailure("\\x needs two hexadecimal digits: \(line)") }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        case UInt8(ascii: "["):
            let (run, end) = (rest.prefix { $0 != UInt8(ascii: "]") }, UInt8(ascii: "]"))
            guard let count = Int(String(decoding: run.dropFirst(2), as: UTF8.self)),
                let byte = run.first, rest.dropFirst(run.count).first == end
            else { preconditionFailure("\\[ needs a byte, * and a count: \(line)") }
            bytes += Array(repeating: byte, count: count)
            rest = rest.dropFirst(run.count + 1)
        default: preconditionFailure("unknown escape in \(line)")
        }
    }
    return Octets(bytes)
}
