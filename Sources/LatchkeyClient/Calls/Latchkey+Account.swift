import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The user's account and sessions.
extension Latchkey {
    public func me() async throws(LatchkeyError) -> User {
        try await answer("GET", "/users/me").decoded(User.self, .useDefaultKeys)
    }

    /// Changes what is given, and clears what is given as nil: `[.email: "jo@example.org", .postalCode: nil]`.
    /// - Returns: The user as now on record.
    public func update(_ changes: [Profile.Field: String?]) async throws(LatchkeyError) -> User {
        var fields: [String: String?] = [:]
        for (field, value) in changes { fields.updateValue(value, forKey: field.rawValue) }
        return try await answer("PATCH", "/users/me", fields).decoded(User.self, .useDefaultKeys)
    }

    /// The latest seen first.
    public func sessions() async throws(LatchkeyError) -> [UserSession] {
        try await answer("GET", "/users/me/sessions").decoded([String: [UserSession]].self, .useDefaultKeys)["sessions"]
            ?? []
    }

    /// Ends one of the user's sessions.
    public func revokeSession(_ id: String) async throws(LatchkeyError) {
        _ = try await answer("DELETE", "/users/me/sessions/" + QueryText.encoded(id))
    }

    /// Ends all of the user's sessions but this one.
    /// - Returns: How many there were.
    public func revokeOtherSessions() async throws(LatchkeyError) -> Int {
        try await answer("DELETE", "/users/me/sessions").decoded([String: Int].self)["revoked"] ?? 0
    }

    private func answer(
        _ method: String, _ path: String, _ fields: [String: String?]? = nil
    ) async throws(LatchkeyError) -> Answer {
        try await asUser(request(method, path, fields)).checked(now: pace.now())
    }
}
