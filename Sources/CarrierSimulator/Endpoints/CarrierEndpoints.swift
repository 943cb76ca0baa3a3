import HTTPServer
import HTTPTypes
import Primitives

/// The endpoints of one carrier that a relying party requests directly, and what they share.
extension CarrierSimulator {
    /// Serves an endpoint of the carrier that the path names: logs the request, applies the endpoint's faults and the
    /// edits of a test. A ``OAuthError`` becomes its JSON response.
    /// - Parameters:
    ///   - faults: What the names of the endpoint's faults begin with.
    ///   - content: The form or JSON object of the request, if the endpoint reads it.
    func serve(
        _ endpoint: RequestLog.Endpoint, _ request: Request, faults prefix: String, content: Parameters? = nil,
        _ respond: (CarrierSite) async throws -> Response
    ) async throws -> Response {
        let site = try site(of: request)
        note(endpoint, request, mccmnc: site.mccmnc, content: content)
        // 307 makes a client that follows it repeat its form (RFC 9110 section 15.4.8).
        let redirectStatus = request.method == .post ? HTTPResponse.Status.temporaryRedirect : .found
        if let replacement = try await site.replacement(prefix, redirectStatus: redirectStatus, pause: pause) {
            return site.edited(replacement, at: endpoint)
        }
        do {
            return site.edited(try await respond(site), at: endpoint)
        } catch let refusal as OAuthError {
            note(refusal, of: endpoint, at: site)
            return site.edited(refusal.response, at: endpoint)
        }
    }

    func note(_ refusal: OAuthError, of endpoint: RequestLog.Endpoint, at site: CarrierSite) {
        withState { $0.log.add(refusal, of: endpoint, at: site.mccmnc) }
    }

    /// `GET {issuer}/jwks`.
    func respondWithKeys(_ request: Request) async throws -> Response {
        try await serve(.keys, request, faults: "jwks-") { site in
            let keys = try await CarrierKeys(site: site).published()
            return .json(site.edited(keys, at: .keys), cacheControl: "max-age=3600")
        }
    }

    /// An address that no relying party may request. It serves the unpublished key that signed the token, so that a
    /// relying party that follows `jku` accepts the token and the test sees it.
    func respondWithCanary(_ request: Request) async throws -> Response {
        try await serve(.canary, request, faults: "canary-") { site in
            let key = try await CarrierKeys(site: site).unpublished()
            return .json(["keys": [key.publicJWK(keyID: key.keyID).value]])
        }
    }

    /// `GET {issuer}/userinfo` (OpenID Connect Core section 5.3) with `Authorization: Bearer` or `DPoP`.
    func respondWithUserInfo(_ request: Request) async throws -> Response {
        try await serve(.userInfo, request, faults: "userinfo-") { site in
            if site.has(.userInfo401) { throw OAuthError.invalidToken }
            let key = site.has(.userInfoSigned) ? try await CarrierKeys(site: site).signing() : nil
            return try withGrant(of: request, site: site) { grant, user in
                let info = UserInfo(grant: grant, user: user, site: site, query: Parameters(queryOf: request))
                let claims = site.edited(info.claims, at: .userInfo)
                return try userInfo(claims, of: grant, at: site, signedBy: key)
            }
        }
    }

    /// A userinfo response (OpenID Connect Core section 5.3.2): JSON, or a JWT that is signed or encrypted or both.
    private func userInfo(
        _ claims: JSONMembers, of grant: Grant, at site: CarrierSite, signedBy key: SigningKey?
    ) throws -> Response {
        var draft = key.map { TokenDraft(.userInfo, type: "JWT", claims: claims, key: $0, now: clock.now()) }
        draft?.claims["iss"] = .string(site.issuer)
        draft?.claims["aud"] = .string(grant.terms.clientID)
        let signed = try draft?.serialized()
        guard let encryption = clients[grant.terms.clientID]?.userInfoEncryption
        else { return signed.map { Response(status: .ok, contentType: "application/jwt", text: $0) } ?? .json(claims) }
        let text = signed ?? String(decoding: claims.serialized, as: UTF8.self)
        return Response(
            status: .ok, contentType: "application/jwt",
            text: try encryption.encrypted(text, isSigned: signed != nil))
    }

    /// A provider's resource in the form of Zoom's `GET /v2/users/me/token?type=zak`: a credential of the user.
    func respondWithResource(_ request: Request) async throws -> Response {
        try await serve(.resource, request, faults: "resource-") { site in
            if site.has(.resource401) { throw OAuthError.invalidToken }
            return try withGrant(of: request, site: site) { _, user in
                guard Parameters(queryOf: request)["type"] == "zak"
                else { throw OAuthError.invalidRequest("The type must be zak.") }
                var members: JSONMembers = ["token": .string("zak-of-\(user.id)")]
                if site.has(.resourceHuge) { members["padding"] = .string(String(repeating: "p", count: 2 << 20)) }
                var response = Response.json(members)
                if site.has(.resourceScalar) { response.body = Array("\"zak\"".utf8) }
                return response
            }
        }
    }

    /// Responds to a request with a user's access token, which must not be in the query.
    func withGrant(
        of request: Request, site: CarrierSite, _ respond: (Grant, User) throws -> Response
    ) throws -> Response {
        guard site.carrier.standIn?.takesTokensInQuery ?? false || !Parameters(queryOf: request).has("access_token")
        else { throw OAuthError.invalidRequest("An access token must not be in the query.") }
        let (_, grant, proofs) = try grant(of: request, at: site)
        guard let user = grant.user else { throw OAuthError.invalidToken }
        let response = try respond(grant, user)
        return proofs?.giving(nonceWith: response, hasProof: true) ?? response
    }

    /// What a request's access token is for, and what has verified the proof of a token that is bound to a key.
    /// - Throws: `invalid_token` (RFC 6750 section 3); `invalid_dpop_proof` or `use_dpop_nonce` (RFC 9449 section 7.1).
    func grant(
        of request: Request, at site: CarrierSite
    ) throws(OAuthError) -> (token: String, grant: Grant, proofs: DPoPVerifier?) {
        var words = (request.headers[.authorization]?.split(separator: " ") ?? []).map(String.init)
        if site.carrier.standIn?.takesTokensInQuery ?? false {
            words = ["bearer"] + (Parameters(queryOf: request)["access_token"].map { [$0] } ?? [])
        }
        guard words.count == 2, let token = withState({ $0.accessTokens[words[1]] }),
            token.grant.mccmnc == site.mccmnc, !token.isRevoked, clock.now() < token.expiresAt,
            words[0].lowercased() == (token.keyThumbprint == nil ? "bearer" : "dpop")
        else { throw OAuthError.invalidToken }
        // RFC 8705 section 3.
        guard token.certificate == nil || token.certificate == request.clientCertificate?.fingerprint
        else { throw OAuthError.invalidToken }
        guard let bound = token.keyThumbprint else { return (words[1], token.grant, nil) }
        let verifier = DPoPVerifier(simulator: self, site: site, server: .resource)
        let thumbprint = try verifier.thumbprint(of: request, to: site.base + request.path, accessToken: words[1])
        guard thumbprint == bound else { throw OAuthError.invalidToken }
        return (words[1], token.grant, verifier)
    }

    /// As ``serve(_:_:faults:content:_:)``, an endpoint that takes a form.
    /// - Parameter read: Reads another content.
    func serveForm(
        _ endpoint: RequestLog.Endpoint, _ request: Request, faults prefix: String,
        reading read: (Request) throws(OAuthError) -> Parameters = TokenEndpoint.form,
        _ respond: (CarrierSite, Parameters) async throws -> Response
    ) async throws -> Response {
        let form = Result { () throws(OAuthError) in try read(request) }
        return try await serve(endpoint, request, faults: prefix, content: try? form.get()) { site in
            try await respond(site, try form.get())
        }
    }
}
