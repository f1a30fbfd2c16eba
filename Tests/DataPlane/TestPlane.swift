// Workers with a scripted control plane: dials are plain connects, credentials are what the test says.

import Bytes
import Crossing
import DataPlane
import Diagnostics
import Dispatch
import Glibc
import Reactor
import Routing
import Support
import Synchronization
import Testing
import Vocabulary

/// A question of a worker's.
struct Need: Hashable, Sendable {
    let newerThan: Generation
}

/// One worker behind one listener, with one credential in slot 0.
final class TestPlane: Sendable {
    let group: WorkerGroup
    let port: UInt16
    private let shared: Shared
    private let settings: WorkerSettings
    private let listening: ListenSocket
    private let listener: DataListener

    final class Shared: Sendable {
        let group = Mutex<WorkerGroup?>(nil)
        let needs = Mutex<[Need]>([])
        let reports = Mutex<[ChallengeFacts]>([])
        let traffic = Mutex<[UInt64: TrafficReport]>([:])
        let onNeed: @Sendable (Generation, Shared) -> Void
        let dials = Mutex(0)
        let busy = Mutex<(reached: Gate, end: Gate)?>(nil)

        static let busyRound = UInt64(1) << 62

        init(onNeed: @escaping @Sendable (Generation, Shared) -> Void) { self.onNeed = onNeed }

        func post(_ message: ToWorker) { group.withLock { $0 }?.post(message) }

        func give(_ token: String, _ generation: UInt64, usableUntil: BootTime? = nil) {
            post(
                .credential(
                    CredentialUpdate(
                        slot: CredentialSlot(0), generation: Generation(generation),
                        line: SecretBytes("Authorization: Bearer \(token)\r\n"),
                        usableUntil: usableUntil)))
        }

        func hear(_ message: ToControl) {
            switch message {
            case .need(_, let generation, _):
                needs.withLock { $0.append(Need(newerThan: generation)) }
                onNeed(generation, self)
            case .dial(let target, let ticket):
                dials.withLock { $0 += 1 }
                post(.dialled(ticket, connect(to: target.origin)))
            case .challenged(_, _, let facts): reports.withLock { $0.append(facts) }
            case .reported(_, let round, let report):
                if round == Self.busyRound, let busy = busy.withLock({ $0 }) {
                    busy.reached.open()
                    try? busy.end.pass()
                    return
                }
                traffic.withLock { $0[round] = report }
            case .stopped: break
            }
        }

        private func connect(to origin: Origin) -> Result<Int32, DialFailure> {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = origin.port.bigEndian
            inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
            let result = withUnsafeBytes(of: &address) {
                Glibc.connect(
                    descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self),
                    socklen_t($0.count))
            }
            guard result == 0 else {
                close(descriptor)
                return .failure(.refused)
            }
            return .success(descriptor)
        }
    }

    /// - Parameter onNeed: what the control plane does when it is asked; by default it hands out
    ///   `token-2`, `token-3` and so on.
    init(
        upstream: String, path: String = "", caFile: String? = nil, tls: UpstreamTLS? = nil,
        http2: HTTP2Use = .auto, upgrades: [String]? = nil,
        credential: Bool = true,
        token: String? = "token-1", settings: WorkerSettings = WorkerSettings(),
        refusals: [RefusalRule] = [], clientField: ClientFieldPolicy = .replace,
        onNeed: @escaping @Sendable (Generation, Shared) -> Void = { generation, shared in
            let next = generation.count + 1
            shared.give("token-\(next)", next)
        }
    ) throws {
        let shared = Shared(onNeed: onNeed)
        self.shared = shared
        let socket = try ListenSocket.bind(address: "127.0.0.1", port: 0)
        port = socket.port
        var spec = RouteSpec(path: path, upstream: try UpstreamURL(upstream))
        spec.caFile = caFile
        spec.tls = tls
        spec.refusalRules = refusals
        if credential {
            spec.credential = RouteCredential(slot: CredentialSlot(0), clientField: clientField)
        }
        spec.http2 = http2
        if let upgrades { spec.upgrades = upgrades }
        self.settings = settings
        listening = socket
        listener = DataListener(socket, AccessGuard(port: socket.port))
        group = try WorkerGroup(
            count: 1, settings: settings, table: RouteTable([spec]), credentials: 1,
            listeners: [listener],
            log: Log(level: .off, format: .text)
        ) { shared.hear($0) }
        socket.close()
        shared.group.withLock { $0 = group }
        if let token { shared.give(token, 1) }
        try group.start()
    }

    deinit {
        group.post(.stop)
        group.join()
        shared.group.withLock { $0 = nil }
    }

    var needs: [Need] { shared.needs.withLock { $0 } }
    var reports: [ChallengeFacts] { shared.reports.withLock { $0 } }

    /// What the worker says of its traffic now.
    func traffic() throws -> TrafficReport {
        let round = UInt64.random(in: 0..<(1 << 62))
        shared.post(.report(round: round))
        return try waited(for: "a report", within: .seconds(20)) {
            shared.traffic.withLock { $0[round] }
        }
    }

    /// Keeps the worker's thread busy meanwhile: what happens it sees at once, and afterwards.
    func whileBusy(_ body: () throws -> Void) throws {
        let (reached, end) = (Gate(), Gate())
        shared.busy.withLock { $0 = (reached, end) }
        shared.post(.report(round: Shared.busyRound))
        defer { end.open() }
        try reached.pass()
        try body()
    }

    var dialCount: Int { shared.dials.withLock { $0 } }
    func give(_ token: String, _ generation: UInt64) { shared.give(token, generation) }
    func post(_ message: ToWorker) { shared.post(message) }

    /// Another configuration; by default with the same listener.
    func reconfigure(
        _ routes: [RouteSpec], settings: WorkerSettings? = nil, listeners: [DataListener]? = nil,
        requiring field: RequiredField? = nil
    ) throws {
        let same =
            field.map { field in
                DataListener(listening, AccessGuard(port: port, requiredField: field))
            } ?? listener
        let table = try RouteTable(routes)
        try group.prepare(table)
        let isAdopted = DispatchSemaphore(value: 0)
        group.reconfigure(
            table, settings ?? self.settings, listeners: listeners ?? [same]
        ) { isAdopted.signal() }
        isAdopted.wait()
    }

    func client() throws -> RawClient { try RawClient(to: port) }
}
