// From a passphrase to a key, made expensive for whoever guesses (RFC 7914).

package import Bytes
import COpenSSL

package enum Scrypt {
    /// What one guess costs.
    package struct Cost: Hashable, Sendable {
        /// A power of two above 1; memory and time grow with it.
        package var work: UInt64
        /// 128 bytes times this are one block.
        package var blockSize: UInt64
        package var parallelism: UInt64

        package init(work: UInt64, blockSize: UInt64, parallelism: UInt64) {
            self.work = work
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        /// 128 MiB and a few tenths of a second, as OWASP's password storage advice has it.
        package static let standard = Cost(work: 1 << 17, blockSize: 8, parallelism: 1)
    }

    /// What is spent at the most on parameters that somebody else wrote.
    private static let memoryBytesMax: UInt64 = 1 << 30

    /// Nil for a cost that is no cost of scrypt's or needs more than 1 GiB.
    package static func derive(
        _ passphrase: SecretBytes, salt: [UInt8], cost: Cost = .standard, count: Int = 32
    ) -> SecretBytes? {
        // 2^20 blocks of 1 KiB and as many threads' worth of them bound the time too.
        guard cost.work <= 1 << 22, cost.blockSize <= 1 << 10, cost.parallelism <= 1 << 6 else {
            return nil
        }
        var isDerived = false
        let key = passphrase.withBytes { passphrase in
            SecretBytes(count: count) { target in
                isDerived = withoutTrace {
                    EVP_PBE_scrypt(
                        passphrase.bindMemory(to: CChar.self).baseAddress, passphrase.count, salt,
                        salt.count, cost.work, cost.blockSize, cost.parallelism, memoryBytesMax,
                        target.bindMemory(to: UInt8.self).baseAddress, target.count) == 1
                }
            }
        }
        return isDerived ? key : nil
    }
}
