// Secrets put together without a copy that stays behind.

import Bytes

extension SecretBytes {
    /// The parts in a row.
    static func joined(_ parts: [SecretBytes]) -> SecretBytes {
        SecretBytes(count: parts.reduce(0) { $0 + $1.count }) { target in
            var position = 0
            for part in parts {
                part.withBytes { bytes in
                    UnsafeMutableRawBufferPointer(rebasing: target[position...])
                        .copyMemory(from: bytes)
                }
                position += part.count
            }
        }
    }
}
