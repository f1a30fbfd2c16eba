// Feeds the loopback server's request reader with a whole connection. However the bytes are cut, the
// same requests come out, then the same refusal; the body of none is larger than the limit.

import HTTPWire
import LoopbackServer

private struct Reading: Equatable {
    var targets: [String] = []
    var bodies: [[UInt8]] = []
    var refusal: Int?
    var isTLS = false
}

private let limits = ServerLimits(
    head: .init(headBytesMax: 1024, fieldsMax: 8), bodyBytesMax: 256)

/// The first byte is the size of the pieces.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard input.count > 1 else { return 0 }
    let bytes = UnsafeRawBufferPointer(rebasing: input[1...])
    let whole = read(bytes, piece: bytes.count)
    let pieces = read(bytes, piece: Int(input[0]) + 1)
    precondition(whole == pieces, "a connection means the same however it is cut")
    return 0
}

private func read(_ bytes: UnsafeRawBufferPointer, piece: Int) -> Reading {
    var reader = RequestReader(limits: limits, peerPort: 1)
    var reading = Reading()
    var start = 0
    while start < bytes.count {
        let end = min(start + piece, bytes.count)
        reader.append(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        start = end
        var isWaiting = false
        while !isWaiting {
            switch reader.next() {
            case .needMore: isWaiting = true
            case .continueWanted: break
            case .request(let request, _):
                precondition(!request.path.isEmpty && !request.method.isEmpty)
                precondition(request.body.count <= limits.bodyBytesMax, "a body has a limit")
                reading.targets.append("\(request.method) \(request.target)")
                reading.bodies.append(request.body)
            case .turnedAway: preconditionFailure("there is no guard here that could")
            case .refused(let status):
                precondition(reading.refusal == nil, "a connection is refused once")
                reading.refusal = status
            case .tlsHandshake: reading.isTLS = true
            }
        }
    }
    return reading
}
