import Foundation
import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

/// The power fails while the server writes an SQLite database.
///
/// Each test records what the program does with its files, makes the content of the disk at many moments, and opens
/// it. `make chaos` tries more moments than `make test` (LATCHKEY_POWER_LOSSES).
@Suite(.serialized) struct PowerLossTests {
    /// What was wrong after losses of power.
    struct Finding: Sendable, CustomStringConvertible {
        enum Kind: Sendable { case notOpened, damaged, lost, revived }

        let kind: Kind
        let description: String
    }

    private let losses = ProcessInfo.processInfo.environment["LATCHKEY_POWER_LOSSES"].flatMap { Int($0) } ?? 60

    private func withDisk(_ body: (AdminHarness, FaultyDisk) async throws -> Void) async throws {
        try await AdminHarness.with { harness in
            try await body(harness, try FaultyDisk(harness.directory.path, isRecording: true))
        }
    }

    /// Opens the database after losses of power at `count` moments: after events, and after acknowledgements.
    private func findings(
        _ disk: FaultyDisk, _ use: RecordedUse, _ count: Int, seed: UInt64 = 1
    ) async throws -> [Finding] {
        let trace = try disk.trace()
        let sessions = use.sessions
        let acknowledged = (sessions.map(\.began) + sessions.compactMap(\.ended)).sorted()
        try #require(!acknowledged.isEmpty && !trace.events.isEmpty)
        var random = SeededGenerator(seed: seed)
        let moments = (0..<count).map { number in
            number.isMultiple(of: 2)
                ? UInt64.random(in: 0...UInt64(trace.events.count), using: &random)
                : acknowledged[Int.random(in: 0..<acknowledged.count, using: &random)]
        }
        var state = DiskAfterPowerLoss(trace)
        var found: [Finding] = []
        for (number, moment) in moments.sorted().enumerated() {
            state.advance(to: moment)
            let survival = DiskAfterPowerLoss.Survival.allCases[number % DiskAfterPowerLoss.Survival.allCases.count]
            let after = try TemporaryDirectory()
            try state.write(to: after.path, survival, &random)
            // The index of the log is not synced. SQLite makes it anew.
            if Bool.random(using: &random) {
                try Data(repeating: 0x5A, count: 32_768).write(to: URL(fileURLWithPath: after.file("latchkey.db-shm")))
            }
            let name = "at event \(moment) of \(trace.events.count), \(survival) survives (seed \(seed))"
            found += await examine(after.file("latchkey.db"), use.sessions, at: moment, name)
        }
        return found
    }

    private func examine(
        _ path: String, _ sessions: [RecordedUse.UsedSession], at moment: UInt64, _ name: String
    ) async -> [Finding] {
        let store: SQLStore
        do { store = try SQLStore(configuration: SQLiteConfiguration(path: path)) } catch {
            return [Finding(kind: .notOpened, description: "\(name): \(error)")]
        }
        var found: [Finding] = []
        do {
            let now = Timestamp(secondsSinceEpoch: Int64(Date().timeIntervalSince1970))
            var (lost, revived) = (0, 0)
            for session in sessions {
                guard let must = session.mustExist(at: moment) else { continue }
                let isThere = try await store.session(session.token, at: now) != nil
                if must, !isThere { lost += 1 }
                if !must, isThere { revived += 1 }
            }
            if lost > 0 { found.append(Finding(kind: .lost, description: "\(name): \(lost) sessions are lost")) }
            if revived > 0 {
                found.append(Finding(kind: .revived, description: "\(name): \(revived) ended sessions live"))
            }
            try await store.close()
            let integrity = try DatabaseProbe(path: path).texts("PRAGMA integrity_check")
            if integrity != ["ok"] {
                found.append(Finding(kind: .damaged, description: "\(name): \(integrity.prefix(2))"))
            }
        } catch {
            found.append(Finding(kind: .damaged, description: "\(name): \(error)"))
        }
        return found
    }

    /// Uses a server that is killed, stopped and started again.
    private func use(_ harness: AdminHarness, _ disk: FaultyDisk, cycles: Int) async throws -> RecordedUse {
        let use = RecordedUse(harness, disk)
        try await use.life(endedBy: SIGKILL) { app, _ in
            // Alone and together: commits of one sign-in and of several.
            await use.load(app, workers: 1, cycles: cycles)
            await use.load(app, workers: 6, cycles: cycles)
        }
        try await use.life(endedBy: SIGTERM) { app, _ in await use.load(app, workers: 3, cycles: cycles) }
        try await use.life(endedBy: SIGKILL) { app, _ in await use.load(app, workers: 3, cycles: cycles) }
        #expect(use.problems == [])
        return use
    }

    @Test("After a loss of power the database opens, has all acknowledged sessions, and none that ended")
    func anyMoment() async throws {
        try await withDisk { harness, disk in
            let use = try await use(harness, disk, cycles: max(20, losses / 5))
            let found = try await findings(disk, use, losses)
            #expect(found.isEmpty, "\(found.count): \(found.prefix(5))")
        }
    }

    @Test(
        "The simulation finds sessions that are lost because nothing is synced, or not each commit",
        arguments: [
            true, false,
        ])
    func withoutSyncs(skipsSyncs: Bool) async throws {
        try await AdminHarness.with { harness in
            let disk = try FaultyDisk(harness.directory.path, isRecording: true)
            if skipsSyncs { disk.set(.init(concerned: .all, skipsSyncs: true)) }
            let change = skipsSyncs ? [:] : ["LATCHKEY_DATABASE_SYNCHRONOUS": "normal"]
            let use = RecordedUse(harness, disk)
            try await use.life(endedBy: SIGKILL, change) { app, _ in await use.load(app, workers: 2, cycles: 15) }
            let found = try await findings(disk, use, 12)
            #expect(found.contains { $0.kind == .lost })
            // With `normal` only the latest changes are lost.
            if !skipsSyncs { #expect(!found.contains { $0.kind == .notOpened || $0.kind == .damaged }) }
        }
    }

    /// Linux marks what could not be written as clean: it is in memory, and no later sync writes it.
    @Test(
        "What a failed sync leaves in the log costs nothing that is acknowledged later",
        arguments: [Ending.afterAnswer, .duringSync])
    func failedSyncs(ending: Ending) async throws {
        try await withDisk { harness, disk in
            let use = RecordedUse(harness, disk)
            for round in 0..<3 {
                try await use.life(endedBy: SIGKILL) { app, process in
                    await use.load(app, workers: 2, cycles: 5)
                    let before = disk.met
                    let isLast = ending == .duringSync
                    disk.set(.init(concerned: .log, syncError: EIO, syncMilliseconds: isLast ? 60_000 : 0))
                    async let answer = use.trySignIn(app)
                    try await until { disk.met > before }
                    if isLast { process.send(SIGKILL) }
                    let status = try await answer?.status
                    #expect(status == (isLast ? nil : 503))
                    disk.set(.init())
                    if round == 1, !isLast { await use.load(app, workers: 2, cycles: 5) }
                }
            }
            try await use.life(endedBy: SIGKILL) { app, _ in await use.load(app, workers: 2, cycles: 5) }
            let found = try await findings(disk, use, losses / 2)
            #expect(found.isEmpty, "\(found.count): \(found.prefix(5))")
        }
    }

    /// When a process is killed whose sync fails.
    enum Ending: Sendable { case afterAnswer, duringSync }
}
