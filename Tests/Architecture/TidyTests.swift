import Testing

/// What may lie at the top. A new name here is a decision, not an accident.
private let topLevel: Set<String> = [
    ".ci", ".dockerignore", ".gitignore", ".swift-format", "ARCHITECTURE.md", "Dockerfile",
    "LICENSE",
    "Makefile", "Package.swift", "README.md", "Sources", "Tests", "config",
]

/// Written in halves, so that this file is free of them too.
private let forbidden = [
    "/wo" + "rk/", "/ro" + "ot/", "/opt/" + "swift", "../sha" + "red", "pypi" + ".org",
    "deb.debian" + ".org", "pythonhosted" + ".org",
]

private let reminders = ["TO" + "DO", "FIX" + "ME", "XX" + "X"]

@Suite struct `Tidy files` {
    @Test func `the top level holds nothing unexpected`() {
        #expect(Set(Repository.topLevel).subtracting(topLevel) == [])
    }

    @Test(arguments: Repository.files)
    func `no file names a machine, a registry or a neighbour`(_ file: ProjectFile) {
        let text = file.text ?? ""
        #expect(forbidden.filter { text.contains($0) } == [])
    }

    @Test(
        arguments: Repository.files.filter {
            ($0.isSwift || $0.name == "shim.h") && !$0.name.hasSuffix("Tests.swift")
        })
    func `a file says first what it does`(_ file: ProjectFile) throws {
        let first = try #require(file.lines.first)
        #expect(first.contains(/^\/\/ \S/), "it opens with a comment of one to three sentences")
        #expect(!first.hasPrefix("//  "), "which is no license and no template")
    }

    @Test(arguments: Repository.sources)
    func `a file has one idea, so it is not long`(_ file: ProjectFile) {
        #expect(file.lines.count <= 500)
    }

    @Test(arguments: Repository.files.filter { $0.isSource || $0.isSwift })
    func `nothing is left for later`(_ file: ProjectFile) async {
        var notes = file.lines
        if file.isSwift { notes = await file.split.comments }
        let left = notes.filter { line in reminders.contains { line.contains($0) } }
        #expect(left == [])
    }

    @Test(arguments: Repository.files.filter { $0.name != "Makefile" && $0.room != "Vectors" })
    func `lines have no tabs, no trailing blanks and no carriage returns`(_ file: ProjectFile) {
        // Seeds are bytes as they come, and Go is indented with tabs by everybody.
        guard !file.path.hasPrefix("Tests/Fuzz/Seeds/"), !file.name.hasSuffix(".go") else { return }
        let untidy = file.lines.filter { $0.contains("\t") || $0.last == " " || $0.last == "\r" }
        #expect(untidy == [])
    }

    @Test(arguments: Repository.swift)
    func `what the compiler cannot check says why it is safe`(_ file: ProjectFile) async {
        let text = await file.split
        let unchecked =
            /@unchecked\s+Sendable|nonisolated\(unsafe\)|\bUnmanaged(?:<.*>)?\.(?:pass|from)/
        for (index, line) in text.code.enumerated() where line.contains(unchecked) {
            // Above it, or first thing in the type that it declares.
            let near = text.comments[max(0, index - 4)...min(index + 1, text.comments.count - 1)]
            #expect(
                near.contains { $0.contains("SAFETY:") },
                "line \(index + 1) has no `// SAFETY:` close above it")
        }
    }

    @Test(arguments: Repository.sources)
    func `nothing is called a helper, a manager or a common base`(_ file: ProjectFile) async {
        let vague =
            /\b(?:struct|class|enum|actor|protocol)\s+\w*(?:Util|Utils|Helper|Helpers|Manager|Common)\b/
        let code = await file.split.code
        #expect(code.filter { $0.contains(vague) } == [])
        #expect(!file.name.contains(/Util|Helper|Manager|Common/))
    }

    @Test(arguments: Repository.sources.filter { $0.room != "proxy" && $0.room != "Demo" })
    func `a room does not print`(_ file: ProjectFile) async {
        let printing = /(?:^|[^.\w])(?:print|debugPrint|dump)\(/
        let code = await file.split.code
        #expect(code.filter { $0.contains(printing) } == [])
    }
}
