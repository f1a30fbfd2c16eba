// Where the process begins and ends; the rest is told what it needs.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@main
enum Entry {
    static func main() async {
        let world = World.ofProcess()
        ProcessHardening.apply(allowsDumps: world.environment["PROXY_ALLOW_DUMPS"] == "1")
        let code = await CommandTable.run(Array(CommandLine.arguments.dropFirst()), in: world)
        // Not exit(3): its handlers take OpenSSL apart, which libcurl's thread may still be using. What
        // we print is written at once, so nothing waits to be flushed.
        _exit(code.rawValue)
    }
}
