// Feeds the head parser. Whatever the bytes are, it fills its table or throws, every range lies
// within the head, and nothing depends on how the bytes were cut.

import HTTPWire

/// What came of one reading, as far as it can be compared.
private enum Reading: Equatable {
    case needMore
    case failed(WireError)
    case complete(length: Int, fields: Int, framing: Result<BodyFraming, WireError>)
}

/// The first byte chooses the side and the method that a response answers, the second the size of
/// the pieces.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard input.count > 2 else { return 0 }
    let bytes = UnsafeRawBufferPointer(rebasing: input[2...])
    let whole = read(bytes, choice: input[0], piece: bytes.count)
    let pieces = read(bytes, choice: input[0], piece: Int(input[1]) + 1)
    precondition(whole == pieces, "a head means the same however it is cut")
    return 0
}

private func read(_ bytes: UnsafeRawBufferPointer, choice: UInt8, piece: Int) -> Reading {
    let isResponse = choice & 1 == 1
    let method: Method = choice & 2 == 2 ? .head : choice & 4 == 4 ? .connect : .get
    var parser = HeadParser(limits: HeadLimits(headBytesMax: 4096, fieldsMax: 16))
    var head = MessageHead(fieldsMax: 16)
    var end = 0
    do throws(WireError) {
        while end < bytes.count {
            end = min(end + piece, bytes.count)
            let arrived = UnsafeRawBufferPointer(rebasing: bytes[..<end])
            let outcome =
                isResponse
                ? try parser.response(in: arrived, into: &head)
                : try parser.request(in: arrived, into: &head)
            guard case .complete = outcome else { continue }
            touchRanges(of: head, in: UnsafeRawBufferPointer(rebasing: bytes[..<head.length]))
            let framing: Result<BodyFraming, WireError>
            do throws(WireError) {
                framing = .success(
                    isResponse
                        ? try head.responseFraming(in: bytes, to: method)
                        : try head.requestFraming(in: bytes))
            } catch {
                framing = .failure(error)
            }
            return .complete(length: head.length, fields: head.fieldCount, framing: framing)
        }
        return .needMore
    } catch {
        return .failed(error)
    }
}

/// `ByteRange.bytes` traps where a range leaves the head.
private func touchRanges(of head: borrowing MessageHead, in bytes: UnsafeRawBufferPointer) {
    for range in [head.methodBytes, head.target, head.reason] { _ = range.bytes(in: bytes) }
    for index in 0..<head.fieldCount {
        let field = head.fields[index]
        precondition(!field.name.isEmpty, "a field has a name")
        _ = field.value.bytes(in: bytes)
        if field.isTight {
            let line = field.line.bytes(in: bytes)
            precondition(line.last == UInt8(ascii: "\n"), "a tight line ends the line")
        }
    }
    _ = head.persists
    _ = head.expectsContinue(in: bytes)
    if !head.target.isEmpty, let target = try? head.requestTarget(in: bytes) {
        for range in [target.scheme, target.authority, target.path] { _ = range.bytes(in: bytes) }
    }
}
