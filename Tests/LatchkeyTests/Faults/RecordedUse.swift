import Foundation
import StorageModel
import Synchronization
import TestSupport

/// Apps that use a server whose disk is recorded, and what the server has told them by which moment of the recording.
final class RecordedUse: Sendable {
    /// A session, from the moments of the recording when its beginning was acknowledged and its end was asked for and
    /// acknowledged.
    struct UsedSession: Sendable {
        let token: TokenHash
        let began: UInt64
        /// When a sign-out, or a refresh that gives the session another token, was sent.
        var ending: UInt64?
        /// When a sign-out was acknowledged.
        var ended: UInt64?

        /// Whether the session must exist after a loss of power at a moment; nil if either is right.
        func mustExist(at moment: UInt64) -> Bool? {
            if let ended, ended <= moment { return false }
            return began <= moment && (ending.map { moment <= $0 } ?? true) ? true : nil
        }
    }

    private static let userCount = 64

    private let harness: AdminHarness
    private let disk: FaultyDisk
    private let state = Mutex<[UsedSession]>([])
    private let problemTexts = Mutex<[String]>([])

    init(_ harness: AdminHarness, _ disk: FaultyDisk) {
        self.harness = harness
        self.disk = disk
        harness.addUsers(Self.userCount)
    }

    var sessions: [UsedSession] { state.withLock { $0 } }
    /// Responses that no fault explains.
    var problems: [String] { problemTexts.withLock { $0 } }

    /// Starts a server on the recorded disk, and ends it with a signal after `body`.
    func life(
        endedBy signal: Int32, _ change: [String: String] = [:], _ body: (App, LatchkeyProcess) async throws -> Void
    ) async throws {
        let process = try LatchkeyProcess(
            ["serve"], environment: harness.environment.merging(disk.environment) { $1 }.merging(change) { $1 },
            directory: harness.directory.path)
        let port = try await process.port(after: "listening")
        try await body(App(port: port, apiKey: AdminHarness.apiKey), process)
        process.send(signal)
        _ = await process.ending()
    }

    /// Signs in, and refreshes and ends some of the sessions.
    func load(_ app: App, workers: Int, cycles: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    for cycle in 0..<cycles {
                        do { try await self.cycle(app, worker * cycles + cycle) } catch {
                            self.problemTexts.withLock { $0.append("\(error)") }
                        }
                    }
                }
            }
        }
    }

    /// Sends a sign-in that a fault may refuse; nil without a response.
    func trySignIn(_ app: App) async throws -> App.Answer? {
        let fields = try harness.authorizedResponse(of: "user-0")
        guard let answer = try? await app.signIn(fields) else { return nil }
        if answer.status == 200 { _ = note(answer) }
        return answer
    }

    private func cycle(_ app: App, _ number: Int) async throws {
        let answer = try await app.signIn(harness.authorizedResponse(of: "user-\(number % Self.userCount)"))
        guard var session = note(answer), var token = answer.token else { return }
        if number % 3 == 1, let refresh = answer.refreshToken {
            noteEnding(of: session)
            let refreshed = try await app.refresh(refresh)
            guard let newer = note(refreshed), let next = refreshed.token else { return }
            (session, token) = (newer, next)
        }
        if number % 3 != 0 {
            noteEnding(of: session)
            let ended = try await app.signOut(token)
            guard ended.status == 200 else { return noteProblem("sign-out", ended) }
            let moment = disk.events
            state.withLock { $0[session].ended = moment }
        }
    }

    /// Notes an acknowledged session; returns its place.
    private func note(_ answer: App.Answer) -> Int? {
        guard answer.status == 200, let token = answer.token else {
            noteProblem("sign-in or refresh", answer)
            return nil
        }
        let session = UsedSession(token: TokenHash(ofSessionToken: token), began: disk.events)
        return state.withLock { sessions in
            sessions.append(session)
            return sessions.count - 1
        }
    }

    private func noteEnding(of session: Int) {
        let moment = disk.events
        state.withLock { $0[session].ending = moment }
    }

    private func noteProblem(_ call: String, _ answer: App.Answer) {
        problemTexts.withLock { $0.append("\(call): \(answer.status) \(answer.error ?? "-")") }
    }
}
