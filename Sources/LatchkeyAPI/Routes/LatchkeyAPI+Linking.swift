import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// Adding a way to sign in (docs/linking.md).
extension LatchkeyAPI {
    /// The session comes first: without one, the code is left alone.
    func linkIdentity(_ request: Request, _ admission: Admission) async throws -> Response {
        let token = try sessionToken(of: request)
        let holder = try await holder(of: request)
        let fields = try BodyFields(request)
        var reader = FieldReader(fields)
        guard let provider = reader.text("provider", limit: 64, required: true) else {
            throw reader.refusal()
        }
        let kind = try useCases.signIn.kind(ofProvider: provider)
        let link = try SignInRequest(fields, provider: provider, kind: kind)
        try admission.check(link.clientID.text)
        return try await useCases.linkIdentity(link, token: token, holder: holder).response
    }
}

extension LinkIdentity.Linked {
    fileprivate var response: Response {
        var json = JSONObjectWriter(capacity: 256)
        json.add("id", identity.id)
        json.add("issuer", identity.issuer)
        json.add("created_at", identity.createdAt.secondsSinceEpoch)
        json.add("correlation_id", correlationID.text)
        return .json(isNew ? .created : .ok, json.finish())
    }
}
