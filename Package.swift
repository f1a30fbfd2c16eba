// swift-tools-version: 6.2
// The rooms of the proxy and what each may import. The table in ARCHITECTURE.md ("Rooms") says why;
// Tests/Architecture checks that the two agree.

import PackageDescription

/// Every room is compiled alike: Swift 6 mode, warnings are errors, and an import leaks into a
/// room's interface only where the file says `package import`.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Rooms that workers run leave out the run-time check of overlapping accesses in release builds: it
/// costs a twentieth of a request's time. Debug builds, and so all tests, keep it.
let hot: [SwiftSetting] = [
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))
]
let hotRooms = [
    "Bytes", "HTTPWire", "HTTP2Wire", "Crypto", "Routing", "Reactor", "DataPlane",
]

func room(_ name: String, _ imports: [String] = []) -> Target {
    .target(
        name: name, dependencies: imports.map { .init(stringLiteral: $0) },
        swiftSettings: settings + (hotRooms.contains(name) ? hot : []))
}

func tests(_ name: String, of imports: [String], excluding files: [String] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: imports.map { .init(stringLiteral: $0) },
        path: "Tests/" + name, exclude: files, swiftSettings: settings)
}

/// One libFuzzer program. It has no `main` of its own, so only `Tests/Fuzz/run` builds it.
func fuzzer(_ name: String, of imports: [String]) -> Target {
    .executableTarget(
        name: "Fuzz" + name, dependencies: imports.map { .init(stringLiteral: $0) },
        path: "Tests/Fuzz/" + name,
        swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])])
}

let fuzzers: [Target] =
    Context.environment["FUZZ"] == nil
    ? []
    : [
        fuzzer("Head", of: ["HTTPWire"]),
        fuzzer("Body", of: ["HTTPWire", "Bytes"]),
        fuzzer("Challenge", of: ["HTTPWire"]),
        fuzzer("Requests", of: ["LoopbackServer", "HTTPWire"]),
        fuzzer("TokenResponse", of: ["OAuth", "Bytes", "Vocabulary"]),
        fuzzer("Documents", of: ["OAuth", "Bytes", "Vocabulary"]),
        fuzzer("Tokens", of: ["OAuth", "Crypto", "Bytes", "Vocabulary"]),
        fuzzer("Configuration", of: ["Configuration", "Routing", "Vocabulary"]),
        fuzzer("HeadEdits", of: ["Routing", "HTTPWire", "Bytes", "Vocabulary"]),
        fuzzer("ResponseEdits", of: ["Routing", "HTTPWire", "Bytes", "Vocabulary"]),
        fuzzer("Rules", of: ["Routing", "HTTPWire", "Bytes", "Vocabulary"]),
        fuzzer("Records", of: ["TokenStore", "Crypto", "Bytes", "Vocabulary"]),
        fuzzer("Sessions", of: ["HTTP2Wire", "HTTPWire", "Bytes"]),
    ]

/// `TESTS="OAuth Crypto"` leaves out the tests of every other room, for shorter builds at work.
let chosenTests = Context.environment["TESTS"].map { rooms in
    Set(rooms.split(separator: " ").map { String($0) + "Tests" })
}

let libraries: [Target] = [
    .systemLibrary(
        name: "COpenSSL", pkgConfig: "openssl",
        providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    .systemLibrary(
        name: "CNGHTTP2", pkgConfig: "libnghttp2",
        providers: [.apt(["libnghttp2-dev"]), .brew(["libnghttp2"])]),
    .systemLibrary(
        name: "CCurl", pkgConfig: "libcurl",
        providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
    .systemLibrary(
        name: "CUV", pkgConfig: "libuv",
        providers: [.apt(["libuv1-dev"]), .brew(["libuv"])]),
    .systemLibrary(
        name: "CYAML", pkgConfig: "yaml-0.1",
        providers: [.apt(["libyaml-dev"]), .brew(["libyaml"])]),
]

/// Bridges to variadic functions of the C library itself; nothing to link.
let bridges: [Target] = [.systemLibrary(name: "CProcess")]

let rooms: [Target] = [
    room("Bytes"),
    room("Pages"),
    room("Vocabulary", ["Bytes"]),
    room("Diagnostics", ["Bytes"]),
    room("HTTPWire", ["Bytes"]),
    room("HTTP2Wire", ["Bytes", "HTTPWire", "CNGHTTP2"]),
    room("Crypto", ["Bytes", "COpenSSL"]),
    room("OAuth", ["Bytes", "Vocabulary", "Crypto"]),
    room("Routing", ["Bytes", "Vocabulary", "HTTPWire"]),
    room("TokenStore", ["Bytes", "Vocabulary", "Crypto"]),
    room("Reactor", ["Bytes", "CUV", "Crypto"]),
    room("Fetch", ["Bytes", "Vocabulary", "CCurl"]),
    room("Configuration", ["Bytes", "Vocabulary", "Routing", "CYAML"]),
    room("Crossing", ["Bytes", "Vocabulary", "Routing"]),
    room("LoopbackServer", ["Bytes", "HTTPWire", "Pages"]),
    room(
        "DataPlane",
        [
            "Bytes", "Vocabulary", "Diagnostics", "HTTPWire", "HTTP2Wire", "Crypto", "Routing",
            "Reactor", "Crossing", "Pages",
        ]),
    room(
        "AuthCore",
        [
            "Bytes", "Vocabulary", "Diagnostics", "HTTPWire", "OAuth", "TokenStore", "Fetch",
            "Crossing", "LoopbackServer", "Pages",
        ]),
    room("Demo", ["Bytes", "Vocabulary", "Crypto", "OAuth", "LoopbackServer", "Pages"]),
    room(
        "Admin",
        ["Bytes", "Vocabulary", "HTTPWire", "Routing", "LoopbackServer", "Pages"]),
]

let roomTests: [Target] = [
    tests("Bytes", of: ["Bytes"]),
    tests("Vocabulary", of: ["Vocabulary", "Bytes"]),
    tests("Diagnostics", of: ["Diagnostics", "Bytes", "Support"]),
    tests("HTTPWire", of: ["HTTPWire", "Bytes", "Support"]),
    tests("HTTP2Wire", of: ["HTTP2Wire", "HTTPWire", "Bytes", "Support"]),
    tests("Crypto", of: ["Crypto", "Bytes", "Support"]),
    tests("OAuth", of: ["OAuth", "Bytes", "Vocabulary", "Crypto"]),
    tests("Routing", of: ["Routing", "Bytes", "Vocabulary", "HTTPWire"]),
    tests("TokenStore", of: ["TokenStore", "Bytes", "Vocabulary", "Crypto"]),
    tests("Reactor", of: ["Reactor", "Bytes", "Support"]),
    tests("Fetch", of: ["Fetch", "Bytes", "Vocabulary", "Crypto", "CCurl", "Support"]),
    tests("Configuration", of: ["Configuration", "Bytes", "Vocabulary", "Routing"]),
    tests("LoopbackServer", of: ["LoopbackServer", "Bytes", "HTTPWire", "Support"]),
    tests(
        "DataPlane",
        of: [
            "DataPlane", "Bytes", "Vocabulary", "HTTPWire", "HTTP2Wire", "Routing", "Reactor",
            "Crossing", "Crypto", "Diagnostics", "Pages", "Support",
        ]),
    tests(
        "AuthCore",
        of: [
            "AuthCore", "Bytes", "Vocabulary", "OAuth", "TokenStore", "Fetch", "Crossing",
            "Diagnostics", "Support",
        ]),
    tests(
        "Demo",
        of: ["Demo", "Bytes", "Vocabulary", "OAuth", "LoopbackServer", "Support"]),
    tests(
        "Admin",
        of: ["Admin", "Bytes", "Vocabulary", "Routing", "LoopbackServer", "Pages", "Support"]),
    tests("proxy", of: ["proxy", "Bytes", "Vocabulary", "Support"]),
    tests("Architecture", of: ["Support"]),
    tests("Transcripts", of: ["Support"]),
    tests(
        "Providers", of: ["Bytes", "Vocabulary", "Crypto", "Support"],
        excluding: ["Servers", "user.py"]),
    tests("Browser", of: ["Support", "Demo", "Vocabulary"]),
    tests("EndToEnd", of: ["Bytes", "Vocabulary", "Crypto", "Support"]),
].filter { chosenTests?.contains($0.name) ?? true }

let package = Package(
    name: "credential-proxy",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "proxy", targets: ["proxy"])],
    targets: libraries + bridges + rooms + [
        .executableTarget(
            name: "proxy",
            dependencies: [
                "Bytes", "Vocabulary", "Diagnostics", "HTTPWire", "Crypto", "OAuth", "Routing",
                "TokenStore", "Reactor", "Fetch", "Configuration", "Crossing", "LoopbackServer",
                "DataPlane", "AuthCore", "Demo", "Admin", "Pages", "CProcess",
            ],
            swiftSettings: settings),
        .target(
            name: "Support",
            dependencies: ["Bytes", "Vocabulary", "HTTPWire", "HTTP2Wire", "Crypto", "COpenSSL"],
            path: "Tests/Support", swiftSettings: settings),
    ] + roomTests + fuzzers,
)
