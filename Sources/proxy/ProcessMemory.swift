// What a process that runs for weeks need not keep of its start.

import CProcess
import Glibc

enum ProcessMemory {
    /// Gives back the pages of program text and constants that reading the configuration, linking and
    /// the Swift runtime's first look-ups have touched: most are never used again, and those that are
    /// come back from the page cache (madvise(2), MADV_DONTNEED). Only mappings of files that nobody
    /// can have written to are given back.
    static func giveBackStart() {
        malloc_trim(0)
        _ = dl_iterate_phdr(
            { object, _, _ in
                guard let object = object?.pointee, let headers = object.dlpi_phdr else { return 0 }
                let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
                for header in UnsafeBufferPointer(start: headers, count: Int(object.dlpi_phnum)) {
                    let isLoaded = header.p_type == 1 && header.p_flags & 2 == 0
                    guard isLoaded, header.p_memsz >= page else { continue }
                    let start = (UInt(object.dlpi_addr) + UInt(header.p_vaddr)) & ~(page - 1)
                    let length = Int(header.p_memsz) & ~Int(page - 1)
                    madvise(UnsafeMutableRawPointer(bitPattern: start), length, MADV_DONTNEED)
                }
                return 0
            }, nil)
    }
}
