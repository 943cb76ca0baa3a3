package import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// Repairs of accounts. Without `applies` each only reports what it would do.
extension AdminService {
    /// Replaces an identity of a user; the user's sessions end.
    /// - Parameter replacing: The beginning of the fingerprint of the identity to replace; nil if the user has only
    ///   one.
    package func relink(
        _ user: Int64, toIssuer issuer: String, subject: String, replacing: String? = nil, reason: String?,
        applies: Bool
    ) async throws -> CommandReport {
        try check(reason)
        let identity = Identity(issuer: issuer, subject: subject)
        try check(identity, replacing: replacing)
        let record = try await account(of: user)
        let (id, now) = (UserID(user), clock.now())
        let result = try await store.relink(
            id, to: identity, replacing: replacing, at: now, by: .operating(Self.operatorName), reason: reason,
            applies: applies)
        switch result {
        case .failure(let obstacle): throw AdministratorError(obstacle.explanation(user))
        case .success(let former):
            let lines = [
                "user \(user) \(applies ? "signs" : "would sign") in with \(identity.name),",
                "  and no longer with \(former.name);", "  sessions ended: \(record.sessionCount).",
            ]
            return report(lines, applies: applies) { json in
                json.add("user_id", user)
                json.add("identity", object: identity.write)
                json.add("former_identity", object: former.write)
                json.add("sessions_ended", record.sessionCount)
            }
        }
    }

    /// Merges an account into another, which gets the identities and missing profile values. The merged account is
    /// erased and its sessions end.
    package func merge(
        _ other: Int64, into user: Int64, reason: String?, applies: Bool
    ) async throws -> CommandReport {
        try check(reason)
        guard other != user else { throw AdministratorError("name two different users") }
        let (gone, kept) = (try await account(of: other), try await account(of: user))
        if applies {
            let now = clock.now()
            let isDone = try await store.merge(
                UserID(other), into: UserID(user), at: now, by: .operating(Self.operatorName), reason: reason)
            guard isDone else { throw AdministratorError("one of the users was erased in the meantime") }
        }
        let lines = [
            "user \(other) \(applies ? "was" : "would be") merged into user \(kept.user.id.number) and erased:",
            "  identities moved: \(gone.identities.count);", "  sessions ended: \(gone.sessionCount).",
        ]
        return report(lines, applies: applies) { json in
            json.add("user_id", user)
            json.add("erased_user_id", other)
            json.add("identities_moved", gone.identities.count)
            json.add("sessions_ended", gone.sessionCount)
        }
    }

    /// Erases a user: identities, sessions, tokens and profile.
    package func erase(_ user: Int64, reason: String?, applies: Bool) async throws -> CommandReport {
        try check(reason)
        let record = try await account(of: user)
        if applies {
            let event = event(.userErased, of: user) { $0.add("reason", ifPresent: reason) }
            let isDone = try await store.deleteUser(UserID(user), in: nil, recording: event)
            guard isDone else { throw AdministratorError("there is no user \(user)") }
        }
        let line =
            "user \(user) \(applies ? "was" : "would be") erased, with identities: \(record.identities.count), "
            + "sessions: \(record.sessionCount)."
        return report([line], applies: applies) { json in
            json.add("user_id", user)
            json.add("identities", record.identities.count)
            json.add("sessions_ended", record.sessionCount)
        }
    }

    func check(_ reason: String?) throws(AdministratorError) {
        guard (reason?.count ?? 0) <= 280 else {
            throw AdministratorError("the reason must have at most 280 characters")
        }
    }

    /// Checks that an ID token can have the identity: a typing error locks the user out.
    private func check(_ identity: Identity, replacing: String?) throws(AdministratorError) {
        guard EndpointURL(identity.issuer, policy: .allowLoopbackHTTP) != nil else {
            throw AdministratorError("the issuer is not an https URL; copy it from the provider's OpenID configuration")
        }
        guard (1...255).contains(identity.subject.utf8.count), identity.subject.utf8.allSatisfy(\.isVisibleASCII)
        else { throw AdministratorError("the subject must be 1 to 255 visible ASCII characters") }
        if let replacing, replacing.utf8.count < 8 {
            throw AdministratorError("give at least 8 digits of the fingerprint")
        }
    }
}

extension RelinkError {
    fileprivate func explanation(_ user: Int64) -> String {
        switch self {
        case .unknownUser: "there is no user \(user)"
        case .unknownIdentity: "user \(user) has no such identity; latchkey users show \(user) lists the identities"
        case .severalIdentities: "user \(user) has several identities; name the one to replace with --replacing"
        case .identityTaken(let owner):
            "this identity belongs, or belonged before a move, to user \(owner.number); to combine two accounts, use "
                + "latchkey users merge"
        }
    }
}
