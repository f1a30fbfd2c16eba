// What a process that runs for weeks need not keep of its start.

import Glibc

enum ProcessMemory {
    /// Gives back the pages of program text that reading the configuration, linking and the Swift
    /// runtime's first look-ups have touched: most are never used again, and those that are come back
    /// from the page cache (madvise(2), MADV_DONTNEED). Only executable mappings of files are: nobody
    /// writes to them, so nothing can be lost.
    static func giveBackStart() {
        guard let maps = fopen("/proc/self/maps", "re") else { return }
        defer { fclose(maps) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, maps) > 0 {
            guard let line, let range = executableRange(String(cString: line)) else { continue }
            madvise(
                UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
        }
    }

    /// The addresses of a line such as `7f12-7f34 r-xp 00000000 fe:00 42 /usr/lib/libuv.so` (proc(5));
    /// nil for any other kind of mapping.
    static func executableRange(_ line: String) -> Range<UInt>? {
        // The path is padded with spaces, and may hold some.
        let parts = line.split(separator: " ", maxSplits: 5)
        guard parts.count == 6, parts[1] == "r-xp",
            parts[5].drop(while: { $0 == " " }).hasPrefix("/")
        else { return nil }
        let ends = parts[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        return ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : nil
    }
}
