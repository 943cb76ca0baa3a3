package import LatchkeyService
import Primitives
import SignIn
import Storage
import StorageModel

extension AdminService {
    private static let maximumListedSessions = 1000

    /// The user's sessions, the last seen first, one line each. The last line says if there are more.
    package func sessions(of user: Int64) async throws -> CommandReport {
        _ = try await account(of: user)
        let now = clock.now()
        let sessions = try await store.sessions(of: UserID(user), at: now, limit: Self.maximumListedSessions + 1)
        return CommandReport(text: sessions.map(\.textLine), json: sessions.map(\.jsonLine))
            .cut(at: Self.maximumListedSessions)
    }

    /// Ends the sessions of a user, or one of them, or reports what that would do. Running servers refuse the tokens
    /// when their caches are a few seconds older.
    /// - Parameter session: The id of the only session to end; nil for all.
    package func endSessions(
        of user: Int64, only session: String?, reason: String?, applies: Bool
    ) async throws -> CommandReport {
        try check(reason)
        let record = try await account(of: user)
        let count: Int
        if applies {
            count = try await end(session, of: user, reason)
        } else if let session {
            let now = clock.now()
            let all = try await store.sessions(of: UserID(user), at: now, limit: max(record.sessionCount, 1))
            guard all.contains(where: { $0.id == session }) else { throw Self.unknownSession(of: user) }
            count = 1
        } else {
            count = record.sessionCount
        }
        let line = "user \(user): \(count) \(count == 1 ? "session" : "sessions") \(applies ? "ended" : "would end")."
        return report([line], applies: applies) { json in
            json.add("user_id", user)
            json.add("sessions_ended", count)
        }
    }

    private func end(_ session: String?, of user: Int64, _ reason: String?) async throws -> Int {
        let id = UserID(user)
        let event = event(session == nil ? .allSessionsRevoked : .sessionRevoked, of: user) { json in
            json.add("session", ifPresent: session)
            json.add("reason", ifPresent: reason)
        }
        guard let session else {
            return try await store.revokeSessions(of: id, except: nil, recording: event) ?? 0
        }
        let result = try await store.revokeSession(id: session, of: id, in: nil, recording: event)
        guard result == .revoked else { throw Self.unknownSession(of: user) }
        return 1
    }

    private static func unknownSession(of user: Int64) -> AdministratorError {
        AdministratorError("user \(user) has no such session; latchkey users sessions \(user) lists the sessions")
    }
}

extension SessionSummary {
    fileprivate var textLine: String {
        let words =
            [id, "client=\(clientID)"] + (device.map { ["device=\($0.debugDescription)"] } ?? [])
            + [("created", createdAt), ("last_seen", lastSeenAt), ("expires", expiresAt)]
            .map { "\($0.0)=\(UTCTime.text($0.1))" }
        return words.joined(separator: " ")
    }

    fileprivate var jsonLine: String {
        JSONObjectWriter.text { json in
            json.add("id", id)
            json.add("client_id", clientID)
            json.add("device", ifPresent: device)
            json.add("created_at", UTCTime.text(createdAt))
            json.add("last_seen_at", UTCTime.text(lastSeenAt))
            json.add("expires_at", UTCTime.text(expiresAt))
        }
    }
}
