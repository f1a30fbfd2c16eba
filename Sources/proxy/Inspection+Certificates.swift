// What `proxy check` finds out about certificates that the configuration names: those that listeners show
// and those that upstreams are shown.

import Configuration
import Crypto
import Routing

extension Inspection {
    func certificates() -> [Finding] {
        var findings: [Finding] = []
        for listener in settings.listen {
            guard let files = listener.tls else { continue }
            findings.append(
                finding("listener \(listener)") { () throws(TLSError) in
                    _ = try ServerIdentity(
                        certificateFile: files.certificateFile, keyFile: files.keyFile)
                })
        }
        for route in settings.routeSpecs {
            guard let tls = route.tls, tls.certificateFile != nil else { continue }
            var demands = TLSDemands()
            demands.certificateFile = tls.certificateFile
            demands.keyFile = tls.keyFile
            findings.append(
                finding("client certificate for \(route.upstream.origin)") {
                    () throws(TLSError) in
                    let trust = route.caFile.map { TLSTrust.file(path: $0) } ?? .system
                    _ = try TLSContext.client(trust: trust, demands: demands)
                })
        }
        return findings
    }

    private func finding(_ subject: String, _ look: () throws(TLSError) -> Void) -> Finding {
        do throws(TLSError) {
            try look()
            return Finding(subject, .passed, "certificate and key can be used")
        } catch {
            return Finding(
                subject, .failed, error.reason,
                hint: "\"proxy certificate\" makes a certificate and a key for this machine")
        }
    }
}
