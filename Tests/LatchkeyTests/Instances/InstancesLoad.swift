import Foundation
import Primitives
import Synchronization
import TestSupport

/// Apps that sign in through the proxy, use their session, and sometimes sign out, until they are stopped. They repeat
/// requests after a 503, as the documents say.
final class InstancesLoad: Sendable {
    struct Tally: Sendable {
        /// Tokens of acknowledged sign-ins without sign-out.
        var live: [String] = []
        /// Tokens with an acknowledged sign-out.
        var over: [String] = []
        /// Acknowledged sign-ins.
        var signIns = 0
        /// Responses with 503.
        var unavailable = 0
        /// Sign-ins that failed when repeated after a 503 because their code was spent. They were never acknowledged,
        /// and the app starts again.
        var spent = 0
        /// Responses that the documents do not describe.
        var problems: [String] = []
    }

    struct Stalled: Error, CustomStringConvertible {
        let description: String
    }

    static let workers = 6
    /// A limit beyond every test's needs.
    private static let maximum = 3_000

    private let harness: InstancesHarness
    private let state = Mutex(Tally())
    private let begun = CallCounter()
    private let isOver = Mutex(false)
    private let isOut = Mutex(false)
    private let changes = ChangeSignal()

    private init(_ harness: InstancesHarness) {
        self.harness = harness
    }

    /// Runs `body` under load.
    /// - Returns: The results.
    static func run(_ harness: InstancesHarness, _ body: (InstancesLoad) async throws -> Void) async throws -> Tally {
        let load = InstancesLoad(harness)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<workers { group.addTask { await load.work() } }
            defer { load.stop() }
            try await body(load)
        }
        return load.tally
    }

    var tally: Tally { state.withLock { $0 } }

    /// Waits for `count` more acknowledged sign-ins.
    func more(_ count: Int) async throws {
        let goal = tally.signIns + count
        let came: Bool? = await changes.wait(atMostSeconds: 60) {
            let tally = tally
            return tally.signIns >= goal || !tally.problems.isEmpty ? true : nil
        }
        guard came == nil else { return }
        throw Stalled(description: "no \(count) sign-ins in a minute: \(tally.summary)")
    }

    /// While a part is down, requests are not repeated after a 503: an app repeats them only a few times.
    func duringOutage(_ body: () throws -> Void) rethrows {
        isOut.withLock { $0 = true }
        defer {
            isOut.withLock { $0 = false }
            changes.post()
        }
        try body()
    }

    private func stop() {
        isOver.withLock { $0 = true }
        isOut.withLock { $0 = false }
        changes.post()
    }

    private func work() async {
        var line = AppConnection(to: harness.proxy.address)
        while !isOver.withLock({ $0 }) {
            let number = begun.increment()
            guard number <= Self.maximum else { break }
            do {
                try await cycle(number, &line)
                // Leaves processor time for the restarting processes.
                try await Task.sleep(for: .milliseconds(20))
            } catch {
                note { $0.problems.append("no answer, or none that is documented: \(error)") }
                // One failure is enough.
                break
            }
        }
        await line.close()
    }

    private func note(_ change: (inout Tally) -> Void) {
        state.withLock { change(&$0) }
        changes.post()
    }

    private func cycle(_ number: Int, _ line: inout AppConnection) async throws {
        let fields = try harness.authorizedResponse(of: number)
        let (signIn, wasRepeated) = try await insist(&line, "POST", "/auth/zenkey-signin", json: fields)
        guard let token = signIn.token, signIn.status == 200 else {
            let isSpent = wasRepeated && signIn.status == 401 && signIn.error == "invalid_grant"
            return note { tally in
                if isSpent { tally.spent += 1 } else { tally.problems.append("sign-in: \(signIn.summary)") }
            }
        }
        note { tally in
            tally.signIns += 1
            tally.live.append(token)
        }
        let (me, _) = try await insist(&line, "GET", "/users/me", token: token)
        if me.status != 200 { note { $0.problems.append("the session of a sign-in: \(me.summary)") } }
        guard number.isMultiple(of: 3) else { return }
        note { $0.live.removeAll { $0 == token } }
        let (end, _) = try await insist(&line, "DELETE", "/auth/token", token: token)
        // nginx repeats a DELETE without a response at the next instance, which may find nothing left to delete.
        let isOver = end.status == 200 || end.status == 401
        note { tally in
            if isOver { tally.over.append(token) } else { tally.problems.append("sign-out: \(end.summary)") }
        }
    }

    /// Repeats a request until the response is not 503.
    private func insist(
        _ line: inout AppConnection, _ method: String, _ path: String, token: String? = nil,
        json: [String: String]? = nil
    ) async throws -> (App.Answer, wasRepeated: Bool) {
        var repeats = 0
        while true {
            let answer = try await line.send(method, path, token: token, json: json)
            guard answer.status == 503, answer.error == "temporarily_unavailable",
                answer.response["retry-after"] != nil, repeats < 60
            else { return (answer, repeats > 0) }
            note { $0.unavailable += 1 }
            repeats += 1
            let _: Bool? = await changes.wait(atMostSeconds: 60) { isOut.withLock { $0 } ? nil : true }
            // Backs off as an app does: no event tells an app that an instance can reach its database again.
            try await Task.sleep(for: .milliseconds(min(50 << min(repeats, 8), 1_000)))
        }
    }
}

extension InstancesLoad.Tally {
    var summary: String {
        "\(signIns) signed in, \(over.count) signed out, \(unavailable) times 503, \(spent) codes spent; \(problems)"
    }
}

extension App.Answer {
    /// Without secrets.
    fileprivate var summary: String { "\(status) \(error ?? "-"): \(json["error_description"]?.string ?? "-")" }
}
