// `proxy certificate`: a certificate for this machine, for listeners that speak TLS.

import Bytes
import Configuration
import Crypto

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Writes a self-made certificate and its key.
struct CertificateCommand: Command {
    static let help = CommandHelp(
        name: "certificate", summary: "make a certificate for https to this machine",
        examples: [
            .init("proxy certificate", "certificate.pem and key.pem in this directory"),
            .init(
                "proxy certificate --name proxy.internal --dir /etc/proxy", "for another name too"),
        ],
        synopsis: "[--dir DIR] [--name NAME]... [--days N]",
        flags: [
            .init("--dir DIR", "where the two files are written; else the current directory"),
            .init("--name NAME", "a name or address besides localhost, 127.0.0.1 and ::1; often"),
            .init("--days N", "for how long it is good, up to 825; else 397"),
        ],
        notes: [
            "The certificate is signed by its own key and can sign nothing else. A client believes it when it is told to: curl --cacert certificate.pem https://localhost:8443/ Files that exist are not overwritten. A listener uses it with tls: { certificate: certificate.pem, key: key.pem }; a running proxy notices when the files are replaced."
        ])

    private static let standardNames = ["localhost", "127.0.0.1", "::1"]
    private let directory: String
    private let names: [String]
    private let days: Int

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        directory = try arguments.value(of: "--dir", "DIR") ?? "."
        names = try arguments.values(of: "--name", "NAME")
        let text = try arguments.value(of: "--days", "N")
        try arguments.finish()
        guard let text else {
            days = 397
            return
        }
        // Clients refuse what is good for longer.
        guard let number = Int(text), (1...825).contains(number) else {
            throw .invalidValue(of: "--days", text, expected: "a number from 1 to 825")
        }
        days = number
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let made: (certificate: SecretBytes, key: SecretBytes)
        do throws(CertificateError) {
            let more = names.filter { !Self.standardNames.contains($0) }
            made = try SelfMadeCertificate.make(for: Self.standardNames + more, days: days)
        } catch {
            switch error {
            case .invalidHost(let host):
                throw CommandFailure(.usage, "\"\(host)\" cannot stand in a certificate")
            }
        }
        let (certificate, key) = ("\(directory)/certificate.pem", "\(directory)/key.pem")
        try write(made.key, to: key, mode: 0o600)
        do throws(CommandFailure) {
            try write(made.certificate, to: certificate, mode: 0o644)
        } catch {
            unlink(key)
            throw error
        }
        world.console.note("\(certificate) and \(key) are good for \(days) days")
        world.console.output.write("tls: { certificate: \(certificate), key: \(key) }\n")
        return .success
    }

    private func write(
        _ bytes: SecretBytes, to path: String, mode: UInt32
    ) throws(CommandFailure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode))
        guard descriptor >= 0 else {
            throw CommandFailure(
                .failure, "cannot create \"\(path)\": \(systemMessage(errno))",
                hint: errno == EEXIST
                    ? "move the old file away first; a running proxy uses the new one at once" : nil
            )
        }
        defer { close(descriptor) }
        let written = bytes.withBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard written == bytes.count, fsync(descriptor) == 0 else {
            let reason = systemMessage(errno)
            unlink(path)
            throw CommandFailure(.failure, "cannot write \"\(path)\": \(reason)")
        }
    }
}
