import Foundation
import TestSupport

/// Prometheus' own checker, which `scripts/setup --test` unpacks from Debian's package.
enum Promtool {
    private static var program: String {
        let unpacked = Repository.path(".build/prometheus/usr/bin/promtool")
        return FileManager.default.isExecutableFile(atPath: unpacked) ? unpacked : "promtool"
    }

    static func check(metrics text: String) async throws -> Program.Ending {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/metrics"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return try await Program.run("sh", ["-c", "exec \"$0\" check metrics < \"$1\"", program, file])
    }

    static func check(configuration text: String) async throws -> Program.Ending {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/prometheus.yml"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return try await Program.run(program, ["check", "config", file])
    }

    static func check(rules file: String) async throws -> Program.Ending {
        try await Program.run(program, ["check", "rules", file])
    }
}
