import Foundation

/// The user's account and sessions.
extension Latchkey {
    /// The signed-in user's account.
    public func me() async throws(LatchkeyError) -> User {
        try await response("GET", "/users/me").decoded(User.self, .useDefaultKeys)
    }

    /// Changes the given fields and clears the fields given as nil: `[.email: "jo@example.org", .postalCode: nil]`.
    /// - Returns: The updated user.
    public func update(_ changes: [Profile.Field: String?]) async throws(LatchkeyError) -> User {
        var fields: [String: String?] = [:]
        for (field, value) in changes { fields.updateValue(value, forKey: field.rawValue) }
        return try await response("PATCH", "/users/me", fields).decoded(User.self, .useDefaultKeys)
    }

    /// The user's sessions, the most recently used first.
    public func sessions() async throws(LatchkeyError) -> [UserSession] {
        try await response("GET", "/users/me/sessions").decoded([String: [UserSession]].self, .useDefaultKeys)[
            "sessions"] ?? []
    }

    /// Ends one of the user's sessions.
    public func revokeSession(_ id: String) async throws(LatchkeyError) {
        _ = try await response("DELETE", "/users/me/sessions/" + QueryText.encoded(id))
    }

    /// Ends all of the user's sessions but this one.
    /// - Returns: The number of ended sessions.
    public func revokeOtherSessions() async throws(LatchkeyError) -> Int {
        try await response("DELETE", "/users/me/sessions").decoded([String: Int].self)["revoked"] ?? 0
    }

    private func response(
        _ method: String, _ path: String, _ fields: [String: String?]? = nil
    ) async throws(LatchkeyError) -> ServerResponse {
        try await asUser(request(method, path, fields)).checked(now: pace.now())
    }
}
