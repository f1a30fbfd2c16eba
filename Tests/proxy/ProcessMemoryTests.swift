import Testing

@testable import proxy

@Suite struct `Program text` {
    @Test func `is found by its mapping, whatever stands before the path`() {
        let padded =
            "7f1000-7f3000 r-xp 00001000 fe:00 42                         /usr/lib/libuv.so\n"
        #expect(ProcessMemory.executableRange(padded) == 0x7f1000..<0x7f3000)
        #expect(
            ProcessMemory.executableRange("1000-2000 r-xp 0 08:01 7 /srv/a proxy\n")
                == 0x1000..<0x2000)
    }

    @Test(arguments: [
        "7f1000-7f3000 r--p 00001000 fe:00 42      /usr/lib/libuv.so\n",
        "7f1000-7f3000 rw-p 00001000 fe:00 42      /usr/lib/libuv.so\n",
        "7f1000-7f3000 r-xp 00000000 00:00 0       [vdso]\n",
        "7f1000-7f3000 r-xp 00000000 00:00 0\n",
        "7f3000-7f1000 r-xp 00000000 fe:00 42      /usr/lib/libuv.so\n", "", "\n",
    ])
    func `is nothing else`(line: String) {
        #expect(ProcessMemory.executableRange(line) == nil)
    }
}
