import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn

/// Transactions (docs/approvals.md): their approval, their receipts, and the keys that these are signed with.
extension LatchkeyAPI {
    func authorizeTransaction(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let target = try useCases.providers.find(
            withoutOperators: request.provider,
            instead: "Verify the number of the user's device at /users/me/phone/verifications.")
        let transaction = try SignInRequest(
            BodyFields(request, from: caller.admission), at: target, isTransaction: true)
        try caller.admission.check(transaction.clientID.text)
        return try await useCases.authorizeTransaction(transaction, token: caller.token, session: caller.holder)
            .response
    }

    func redeemReceipt(_ request: Request, _ admission: Admission) async throws -> Response {
        var reader = FieldReader(try BodyFields(request, from: admission))
        let text = reader.visibleText("receipt", limit: Receipt.maximumBytes, required: true)
        guard let text, reader.problems.isEmpty else { throw reader.refusal() }
        return try await useCases.redeemReceipt(Secret(text), clients: admission.clients).response
    }

    /// A JSON Web Key Set (RFC 7517 section 5): the keys of receipts, then those of clients. Without the former
    /// there is no set, because a set without them would be cached.
    func showSigningKeys(_ request: Request) async throws -> Response {
        let keys =
            try await useCases.signingKeys.published().map(PublishedKey.ofReceipts)
            + publishedClientKeys.map(PublishedKey.ofClient) + decryptionKeys.map(PublishedKey.forEncryption)
            + certificates.map { PublishedKey.ofCertificate($0.certificate) }
        var json = JSONObjectWriter(capacity: 1024)
        json.add("keys", objects: keys) { key, json in key.write(to: &json) }
        let body = json.finish()
        let tag = Response.tag(of: body)
        let response = Response(
            status: .ok,
            headers: [
                .contentType: "application/jwk-set+json",
                .cacheControl: "public, max-age=\(SigningKeys.cacheLifetime)", .eTag: tag,
            ], body: body)
        return response.unlessKnown(tag, to: request)
    }
}

/// A key of the published set.
private enum PublishedKey {
    case ofReceipts(PublicSigningKey)
    case ofClient(ClientKey)
    case forEncryption(DecryptionKey)
    /// By which a provider knows a self-signed certificate (RFC 8705 section 2.2).
    case ofCertificate(TLSClientCertificate)

    func write(to json: inout JSONObjectWriter) {
        switch self {
        case .ofClient(let key): key.writePublicKey(to: &json)
        case .forEncryption(let key): key.writePublicKey(to: &json)
        case .ofCertificate(let certificate): certificate.writePublicKey(to: &json)
        case .ofReceipts(let key):
            json.add("kty", "EC")
            json.add("crv", "P-256")
            json.add("x", key.x)
            json.add("y", key.y)
            json.add("use", "sig")
            json.add("alg", "ES256")
            json.add("kid", key.id)
        }
    }
}

extension AuthorizedTransaction {
    fileprivate var response: Response {
        return .json(.ok, capacity: 1024) { json in
            json.add("authorized", true)
            json.add("context", receipt.context)
            json.add("acr", receipt.acr)
            json.add("auth_time", receipt.authTime.secondsSinceEpoch)
            json.add("receipt", signedReceipt.exposed)
            json.add("expires_in", expiresIn)
            json.add("correlation_id", correlationID.text)
        }
    }
}

extension Receipt {
    /// What it says, under the names that it has in the JWT.
    fileprivate var response: Response {
        return .json(.ok, capacity: 512) { json in
            json.add("redeemed", true)
            write(to: &json)
        }
    }
}
