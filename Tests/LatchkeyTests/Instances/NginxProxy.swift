import Foundation
import TestSupport

/// nginx in front of instances of Latchkey, with the shipped `Config/nginx/latchkey.conf` except addresses and
/// files. It also serves HTTP, for clients that send raw bytes.
final class NginxProxy: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let address = LoopbackAddress()
    let secureAddress = LoopbackAddress()
    private let redirectAddress = LoopbackAddress()
    private let directory: TemporaryDirectory
    private let process = Process()

    init(before instances: [LoopbackAddress]) async throws {
        directory = try TemporaryDirectory(files: [
            "tls/fullchain.pem": TLSTexts.chain, "tls/privkey.pem": TLSTexts.key,
        ])
        try directory.write(try site(before: instances), as: "site.conf")
        try directory.write(frame, as: "nginx.conf")
        guard
            let program = ["/usr/sbin/nginx", "/usr/bin/nginx"].first(where: FileManager.default.isExecutableFile)
        else { throw Failure(description: "there is no nginx here; run scripts/setup --test") }
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["-p", directory.path, "-c", directory.file("nginx.conf"), "-e", directory.file("log")]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        try await waitUntilItListens()
    }

    /// Kills it.
    func stop() {
        process.terminate()
        process.waitUntilExit()
    }

    /// The access log of the shipped configuration.
    var accessLog: String { (try? String(contentsOfFile: directory.file("access.log"), encoding: .utf8)) ?? "" }

    /// Its error logs.
    var log: String {
        ["log", "error.log"].compactMap { try? String(contentsOfFile: directory.file($0), encoding: .utf8) }.joined()
    }

    private var frame: String {
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(directory.file($0));" }.joined(separator: " ")
        return """
            \(geteuid() == 0 ? "user root;" : "")
            daemon off; worker_processes 2; pid \(directory.file("pid"));
            events { worker_connections 512; }
            http { access_log off; \(folders) include \(directory.file("site.conf")); }
            """
    }

    /// The shipped configuration. Every replacement must match.
    private func site(before instances: [LoopbackAddress]) throws -> String {
        let shipped = Repository.root.appendingPathComponent("Config/nginx/latchkey.conf")
        var lines = try String(contentsOf: shipped, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false
        ).map(String.init)
        func replace(_ mark: String, _ change: (String) -> [String]) throws {
            let count = lines.count { $0.contains(mark) }
            guard count > 0 else { throw Failure(description: "\(shipped.path) has no “\(mark)”") }
            lines = lines.flatMap { $0.contains(mark) ? change($0) : [$0] }
        }
        try replace("listen [::]:") { _ in [] }
        try replace("listen 80;") { _ in ["listen \(redirectAddress);"] }
        try replace("listen 443 ssl http2;") { _ in ["listen \(secureAddress) ssl http2; listen \(address);"] }
        try replace("/var/log/nginx") { [$0.replacing("/var/log/nginx", with: directory.path)] }
        try replace("/etc/nginx/tls") { [$0.replacing("/etc/nginx/tls", with: directory.file("tls"))] }
        var rest = instances
        try replace("    server latchkey") { line in
            // All instances with the parameters of the first line, which replaces the other lines.
            defer { rest = [] }
            return rest.map { line.replacing(/latchkey[^ ;]*/, with: "\($0)") }
        }
        return lines.joined(separator: "\n")
    }

    private func waitUntilItListens() async throws {
        do {
            try await until {
                guard process.isRunning else { throw Failure(description: "it has ended") }
                guard let client = try? await RawClient(host: address.host, port: address.port) else { return false }
                await client.close()
                return true
            }
        } catch {
            process.terminate()
            throw Failure(description: "nginx does not listen: \(error); \(log)")
        }
    }
}
