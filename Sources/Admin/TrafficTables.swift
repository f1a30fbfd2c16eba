// What went through the proxy, as tables that turn into lists on a phone: routes with their counts and
// charts, and the latest requests without query or body.

import Pages
import Vocabulary

struct RoutesTable {
    private let routes: [RouteFacts]
    private let isCounted: Bool

    init(_ routes: [RouteFacts]) {
        self.routes = routes
        isCounted = routes.contains { $0.traffic != nil }
    }

    var html: String {
        let counted = """
            <th scope="col" class="n">Requests</th><th scope="col" class="n">Errors</th>\
            <th scope="col" class="n">Median</th><th scope="col" class="n">95 %</th>\
            <th scope="col">Last 10 minutes</th>
            """
        return """
            <div class="sheet"><table><thead><tr><th scope="col">Route</th><th scope="col">Credential</th>\
            \(isCounted ? counted : "")</tr></thead>
            <tbody data-list>\(routes.enumerated().map { row($0.offset, $0.element) }.joined(separator: "\n"))</tbody></table></div>
            """
    }

    private func row(_ index: Int, _ route: RouteFacts) -> String {
        let credential = route.credential.map(escaped) ?? "none"
        return """
            <tr id="r-\(index)" data-key><td><code>\(escaped(route.name))</code>\
            <small>\(escaped(route.upstream))</small></td>\
            <td data-label="Credential">\(credential)</td>\(route.traffic.map(cells) ?? "")</tr>
            """
    }

    private func cells(_ traffic: RouteFacts.Traffic) -> String {
        func cell(_ label: String, _ text: String) -> String {
            "<td class=\"n\" data-label=\"\(label)\">\(text)</td>"
        }
        let errors = Said.number(traffic.errors)
        return cell("Requests", Said.number(traffic.requests))
            + cell(
                "Errors",
                traffic.errors == 0 ? errors : "<span class=\"status bad\">\(errors)</span>")
            + cell("Median", Said.bound(milliseconds: traffic.medianMilliseconds))
            + cell("95 %", Said.bound(milliseconds: traffic.slowMilliseconds))
            + "<td class=\"full\">\(Chart.html(traffic.buckets, seconds: TrafficHistory.seconds))</td>"
    }
}

struct RequestsTable {
    private let requests: [RequestFacts]
    private let moment: Moment

    init(_ requests: [RequestFacts], _ moment: Moment) {
        self.requests = requests
        self.moment = moment
    }

    var html: String {
        guard !requests.isEmpty else {
            return """
                <div class="sheet" id="latest" data-key><p class="none">None yet. The proxy passes on what it \
                is sent and shows it here.</p></div>
                """
        }
        return """
            <div class="sheet requests" id="latest"><table><thead><tr><th scope="col">When</th>\
            <th scope="col">Method</th><th scope="col">Path</th><th scope="col">Status</th>\
            <th scope="col" class="n">Took</th><th scope="col">Answered by</th>\
            <th scope="col">Id</th></tr></thead>
            <tbody data-list>\(requests.map(row).joined(separator: "\n"))</tbody></table></div>
            """
    }

    private func row(_ request: RequestFacts) -> String {
        let tone: Tone =
            switch request.isCut ? 0 : request.status {
            case 100..<300: .good
            case 300..<400: .calm
            case 400..<500: .warn
            default: .bad
            }
        let who = request.code.map { "proxy: <code>\(escaped($0))</code>" } ?? "API"
        let status =
            (request.status == 0 ? "gone" : String(request.status))
            + (request.isCut ? " cut" : "")
        return """
            <tr id="q-\(escaped(request.id))" data-key><td class="when">\(moment.since(request.at))</td>\
            <td><code>\(escaped(request.method))</code></td>\
            <td class="path"><code>\(escaped(request.path))</code></td>\
            <td><span class="status \(tone.rawValue)">\(status)</span></td>\
            <td class="n">\(Said.duration(milliseconds: request.milliseconds))</td><td>\(who)</td>\
            <td class="id"><code>\(escaped(request.id))</code></td></tr>
            """
    }
}
