import HTTPServer
import HTTPTypes
import Primitives
import SignIn
import StorageModel

/// Introspection and revocation for the operator's other services (docs/sessions.md).
extension LatchkeyAPI {
    /// RFC 7662 section 2. Session tokens, unless `token_type_hint` says `refresh_token`.
    func introspect(_ request: Request, _ admission: Admission) throws -> ValueOrTask<Response> {
        let question = try TokenQuestion(BodyFields(request, from: admission))
        let kind: Sessions.TokenKind = question.hint == "refresh_token" ? .refresh : .session
        return switch useCases.sessions.introspect(question.token, as: kind) {
        case .value(let found): .value(Self.introspection(of: found, kind, admission))
        case .task(let work): .task { Self.introspection(of: try await work(), kind, admission) }
        }
    }

    /// - Parameter token: The session of a valid token.
    private static func introspection(
        of token: SessionAndUser?, _ kind: Sessions.TokenKind, _ admission: Admission
    ) -> Response {
        // A session of a client that the key is not for counts as unknown.
        let found = token.flatMap { admission.allows($0.session.clientID) ? $0 : nil }
        return .json(.ok, capacity: 512) { json in
            json.add("active", found != nil)
            if let found {
                // A refresh token is not a bearer token, and `expiresAt` is not its expiry.
                if kind == .session {
                    json.add("token_type", "bearer")
                    json.add("exp", found.session.expiresAt.secondsSinceEpoch)
                }
                json.add("client_id", found.session.clientID)
                json.add("sub", found.user.publicID)
                json.add("user_id", found.user.id.number)
                json.add("username", ifPresent: found.user.profile[.username])
                json.add("auth_time", found.session.createdAt.secondsSinceEpoch)
                json.add("session_id", found.session.id)
                found.user.addVerifications(to: &json)
            }
        }
    }

    /// RFC 7009 section 2: the same response whether there was such a token or not.
    func revokeToken(_ request: Request, _ admission: Admission) async throws -> Response {
        try await useCases.sessions.revoke(
            TokenQuestion(BodyFields(request, from: admission)).token, clients: admission.clients,
            requestID: request.id)
        return .emptyObject
    }
}

/// A token that a service asks about (RFC 7662 section 2.1, RFC 7009 section 2.1).
private struct TokenQuestion {
    let token: Secret
    let hint: String?

    init(_ fields: BodyFields) throws(APIError) {
        var reader = FieldReader(fields)
        let token = reader.text("token", limit: 4096, required: true)
        hint = reader.text("token_type_hint", limit: 128)
        guard reader.problems.isEmpty, let token else { throw reader.refusal() }
        self.token = Secret(token)
    }
}
