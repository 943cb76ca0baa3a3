import Primitives
import StorageModel

extension AuditEvent.Kind {
    /// A spent refresh token was shown, and its session revoked for it.
    static let refreshTokenReused = AuditEvent.Kind("refresh_token.reused")
    /// A session was ended by its user from another one, or by one of the operator's services.
    static let sessionRevoked = AuditEvent.Kind("session.revoked")
    static let userEdited = AuditEvent.Kind("user.edited")
    static let userErased = AuditEvent.Kind("user.erased")
    static let identityUnlinked = AuditEvent.Kind("identity.unlinked")
    static let otherSessionsRevoked = AuditEvent.Kind("session.others_revoked")
}

extension Session {
    /// Names a session, in an event about it.
    var auditDetails: AuditDetails {
        AuditDetails { json in
            json.add("session_id", id)
            json.add("client_id", clientID)
        }
    }
}
