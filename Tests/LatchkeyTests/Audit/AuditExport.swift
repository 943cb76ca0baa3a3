import AuditSeals
import Foundation
import LatchkeyFeatures
import LatchkeyService
import Storage
import StorageModel
import TestSupport

/// The export of an audit log, and its verification by a program in Python.
enum AuditExport {
    static func verify(_ lines: [String], _ arguments: [String]) async throws -> Program.Ending {
        let directory = try TemporaryDirectory()
        let path = directory.file("export.jsonl")
        try lines.map { $0 + "\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
        let ending = try await Program.run(
            Repository.path(".build/venv/bin/python3"), [Repository.path("Tests/Audit/verify.py"), path] + arguments)
        withExtendedLifetime(directory) {}
        return ending
    }
}

extension AuditJournal {
    /// What `latchkey audit export` prints.
    func exported() async throws -> [String] {
        let admin = try AdminService(configuration, features: .none, clock: clock.wallClock)
        var lines: [String] = []
        try await admin.exportAudit { lines.append($0) }
        await admin.close()
        return lines
    }
}
