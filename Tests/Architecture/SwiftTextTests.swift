import Testing

@Suite struct `Swift text` {
    @Test func `knows comments from code`() {
        let text = SwiftText("let a = 1 // Task {\n/* await /* nested */ b */ let c\n")
        #expect(text.code[0].contains("let a = 1"))
        #expect(!text.code[0].contains("Task"))
        #expect(text.comments[0].contains("// Task {"))
        #expect(!text.code[1].contains("await"))
        #expect(text.code[1].contains("let c"))
    }

    @Test func `drops what literals say`() {
        let text = SwiftText(
            ##"""
            say("await // no", #"Task " {"#, """
                actor "quoted" A
                """, done) // why
            """##)
        let code = text.code.joined(separator: "\n")
        #expect(!code.contains("await"))
        #expect(!code.contains("Task"))
        #expect(!code.contains("actor"))
        #expect(code.contains("done"))
        #expect(text.comments.last?.contains("// why") == true)
    }

    @Test func `sees the code inside an interpolation`() {
        let text = SwiftText(#"log("all \(names.map { "<\($0)>" }) of \(await count) there")"#)
        #expect(text.code[0].contains("await count"))
        #expect(!text.code[0].contains("there"))
    }

    @Test func `finds imports of every kind`() {
        let text = SwiftText(
            """
            import Bytes
            package import Vocabulary
            @testable import proxy
            @preconcurrency internal import CUV
            import struct FoundationEssentials.Data
            // import Nothing
            let s = "import Nowhere"
            """)
        #expect(text.imports == ["Bytes", "Vocabulary", "proxy", "CUV", "FoundationEssentials"])
    }

    @Test func `reads the table of a manifest`() {
        let manifest = Manifest(
            """
            .systemLibrary(
                name: "CUV", pkgConfig: "libuv"),
            room("Bytes"),
            room(
                "Reactor",
                [
                    "Bytes", "CUV",
                ]),
            .executableTarget(
                name: "proxy",
                dependencies: ["Bytes"])
            """)
        #expect(manifest.libraries == ["CUV"])
        #expect(
            manifest.rooms == ["Bytes": [], "Reactor": ["Bytes", "CUV"], "proxy": ["Bytes"]])
    }

    @Test func `reads the table of a README`() throws {
        let table = try #require(
            RoomsTable(
                """
                # Title
                ## Rooms

                | room | one job | refuses | may import |
                | --- | --- | --- | --- |
                | `CUV` `CYAML` | module maps | logic | – |
                | `Reactor` | a loop | HTTP | Bytes, CUV |
                | `proxy` | commands | rules | all |

                | `Other` | a | b | Bytes |
                """))
        #expect(Set(table.rooms.keys) == ["CUV", "CYAML", "Reactor", "proxy"])
        #expect(table.rooms["Reactor"] == ["Bytes", "CUV"])
        #expect(table.rooms["CUV"] == .some([]))
        #expect(table.rooms["proxy"] == .some(nil))
    }
}
