// Feeds the configuration reader. Whatever the bytes are, it returns settings that hold together or
// throws problems that a person can read; it never traps.

import Configuration
import Routing
import Vocabulary

private let surroundings = Surroundings(
    environment: ["HOME": "/home/user"], directory: "/work", coreCount: 2)

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    do throws(ConfigurationError) {
        let settings = try Settings.parse(bytes, file: "proxy.yaml", in: surroundings)
        check(settings)
    } catch {
        for problem in error.problems {
            precondition(!problem.message.isEmpty, "a problem says what is wrong")
            let text = "\(problem)" + (problem.hint ?? "")
            precondition(
                text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F },
                "a problem is one line")
        }
    }
    return 0
}

private func check(_ settings: Settings) {
    precondition(!settings.listen.isEmpty, "there is an address")
    precondition(settings.routes.routes.count == settings.routeSpecs.count, "all are compiled")
    for route in settings.routes.routes {
        precondition(route.upstream < settings.routes.upstreams.count, "it has an upstream")
        if let slot = route.credential {
            precondition(slot.index < settings.credentials.count, "it has its credential")
        }
    }
    let isOpen = settings.listen.contains { !$0.isLoopback }
    precondition(!isOpen || settings.access.localSecret != nil, "an open address has a secret")
}
