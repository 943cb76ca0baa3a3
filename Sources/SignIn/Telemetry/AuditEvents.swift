package import StorageModel

extension AuditEvent.Kind {
    /// A used refresh token was presented again, and its session was revoked.
    static let refreshTokenReused = AuditEvent.Kind("refresh_token.reused")
    /// A session was ended by its user from another session, by one of the administrator's services, or by an
    /// administrator.
    package static let sessionRevoked = AuditEvent.Kind("session.revoked")
    static let userEdited = AuditEvent.Kind("user.edited")
    static let otherSessionsRevoked = AuditEvent.Kind("session.others_revoked")
    /// A key that signs receipts and seals of the audit log was stored.
    static let signingKeyCreated = AuditEvent.Kind("signing_key.created")
    /// A signing key whose signatures are no longer needed was removed.
    static let signingKeyRemoved = AuditEvent.Kind("signing_key.removed")
}
