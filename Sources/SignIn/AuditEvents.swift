import Primitives
import Storage

extension AuditEvent.Kind {
    /// A spent refresh token was shown, and its session revoked for it.
    static let refreshTokenReused = AuditEvent.Kind("refresh_token.reused")
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
