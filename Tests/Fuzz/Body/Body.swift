// Feeds the body reader with chunked and counted bodies. The decoded data, the bytes taken and the
// error are the same however the bytes are cut, and data never leaves the buffer.

import Bytes
import HTTPWire

private struct Reading: Equatable {
    var data: [UInt8] = []
    var taken = 0
    var isFinished = false
    var trailers: [UInt8] = []
    var error: WireError?
}

/// The first byte chooses the framing, the second the size of the pieces.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard input.count > 2 else { return 0 }
    let bytes = Array(input[2...])
    let framing: BodyFraming =
        switch input[0] & 3 {
        case 0: .length(UInt64(input[0]))
        case 1: .untilClose
        default: .chunked
        }
    let whole = read(bytes, framing: framing, piece: bytes.count)
    let pieces = read(bytes, framing: framing, piece: Int(input[1]) + 1)
    precondition(whole == pieces, "a body means the same however it is cut")
    return 0
}

private func read(_ bytes: [UInt8], framing: BodyFraming, piece: Int) -> Reading {
    var reader = BodyReader(framing)
    var reading = Reading()
    do throws(WireError) {
        while reading.taken < bytes.count && !reader.isFinished {
            let end = min(reading.taken + piece, bytes.count)
            // A buffer of exactly this size, so that the address sanitizer sees a step too far.
            let buffer = UnsafeMutableRawBufferPointer.allocate(
                byteCount: end - reading.taken, alignment: 1)
            defer { buffer.deallocate() }
            buffer.copyBytes(from: bytes[reading.taken..<end])
            let step = try reader.read(buffer)
            precondition(step.consumed == buffer.count || step.isFinished, "bytes are taken")
            reading.data += buffer[step.data]
            reading.taken += step.consumed
        }
        if !reader.isFinished { try reader.end() }
    } catch {
        reading.error = error
        // How far the data went before the error depends on the pieces, and nobody uses it.
        reading.data = []
        reading.taken = 0
    }
    reading.isFinished = reader.isFinished
    if reading.error == nil {
        reading.trailers = Array(reader.trailers.bytes)
    }
    return reading
}
