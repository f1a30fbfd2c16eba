import Testing

private let manifest = Manifest.ofPackage

/// Modules that come with the system or the toolchain.
private let systemModules: Set<String> = [
    "Glibc", "Musl", "Darwin", "Synchronization", "Dispatch", "FoundationEssentials", "Foundation",
]

/// The rooms that a worker runs. They wait for nothing, so they know no task and no actor.
private let workerRooms: Set<String> = [
    "Bytes", "HTTPWire", "HTTP2Wire", "Crypto", "Routing", "Reactor", "DataPlane", "Diagnostics",
]

/// The rooms that may use Foundation's essentials.
private let foundationRooms: Set<String> = [
    "OAuth", "Fetch", "AuthCore", "TokenStore", "Configuration", "Demo", "proxy",
]

/// The one wrapper of each C library.
private let wrappers = [
    "COpenSSL": "Crypto", "CNGHTTP2": "HTTP2Wire", "CCurl": "Fetch", "CUV": "Reactor",
    "CYAML": "Configuration",
]

@Suite struct `Import laws` {
    @Test func `every folder of Sources is a room of the package`() {
        let folders = Set(Repository.files.filter(\.isSource).map(\.room))
        #expect(folders == Set(manifest.rooms.keys).union(manifest.libraries))
    }

    @Test(arguments: Repository.sources)
    func `a file imports only what its room may`(_ file: ProjectFile) async throws {
        let allowed = try #require(manifest.rooms[file.room]).union(systemModules)
        let imports = await Set(file.split.imports)
        #expect(imports.subtracting(allowed).isEmpty)
    }

    @Test(arguments: manifest.rooms.keys.sorted())
    func `each C library has one wrapper`(_ room: String) {
        for library in manifest.rooms[room, default: []].intersection(manifest.libraries) {
            #expect(wrappers[library] == nil || wrappers[library] == room)
        }
    }

    @Test(arguments: Repository.sources.filter { workerRooms.contains($0.room) })
    func `a worker's room knows no task and no actor`(_ file: ProjectFile) async {
        let code = await file.split.code
        let words =
            /\)\s*async\b|\basync\s+(?:let|throws|->)|\bget\s+async\b|\bawait\b|\bactor\s+\w|\bTask\s*[.{(<]|\bAsync(?:Throwing)?Stream\b|\bwith\w*(?:TaskGroup|Continuation)\b/
        #expect(code.filter { $0.contains(words) } == [])
    }

    @Test(arguments: Repository.sources)
    func `Foundation is met only where it may be, and only its essentials`(_ file: ProjectFile)
        async
    {
        let lines = await file.split.code
        for (index, line) in lines.enumerated() where line.contains("import Foundation") {
            #expect(foundationRooms.contains(file.room))
            if line.hasSuffix("import Foundation") {
                // The one place for it: systems that have no FoundationEssentials.
                #expect(index > 2 && lines[index - 1].contains("#else"))
                #expect(index > 2 && lines[index - 3].contains("canImport(FoundationEssentials)"))
            }
        }
    }

    @Test func `data plane and auth core meet in one file of the program`() async {
        for (room, imports) in manifest.rooms where room != "proxy" {
            #expect(!imports.isSuperset(of: ["DataPlane", "AuthCore"]), "\(room)")
        }
        #expect(manifest.rooms["DataPlane"]?.contains("AuthCore") == false)
        #expect(manifest.rooms["AuthCore"]?.contains("DataPlane") == false)
        var meetings: [ProjectFile] = []
        for file in Repository.sources
        where await Set(file.split.imports).isSuperset(of: ["DataPlane", "AuthCore"]) {
            meetings.append(file)
        }
        #expect(meetings.count <= 1)
        #expect(meetings.allSatisfy { $0.room == "proxy" })
    }

    @Test(arguments: Repository.sources)
    func `no module has the name of a type inside it`(_ file: ProjectFile) async throws {
        let code = await file.split.code
        let declaration = try Regex(
            #"\b(?:struct|class|enum|actor|protocol|typealias)\s+\#(file.room)\b"#)
        #expect(code.filter { $0.contains(declaration) } == [])
    }

    @Test(.enabled(if: Repository.file("ARCHITECTURE.md") != nil))
    func `the table in ARCHITECTURE.md is the table of the package`() throws {
        let text = try #require(Repository.file("ARCHITECTURE.md")?.text)
        let table = try #require(RoomsTable(text), "ARCHITECTURE.md has no table of rooms")
        #expect(Set(table.rooms.keys) == Set(manifest.rooms.keys).union(manifest.libraries))
        for (room, imports) in manifest.rooms {
            guard let told = table.rooms[room], let told else { continue }
            #expect(told == imports, "\(room)")
        }
    }
}
