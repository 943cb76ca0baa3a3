import Primitives

/// Issues the ID tokens of a carrier, with its present faults, and the port tokens in their `aka` claim.
struct IDTokenIssuer: Sendable {
    let simulator: CarrierSimulator
    let site: CarrierSite
    let client: CarrierSimulator.Client

    /// - Parameters:
    ///   - requestID: The `auth_req_id` that the token answers (CIBA Core section 10.3.1).
    ///   - isRefreshed: Leaves out `nonce` and `sid` (OpenID Connect Core section 12.2).
    func issue(
        for grant: Grant, accessToken: String, requestID: String? = nil, isRefreshed: Bool = false, now: Timestamp
    ) async throws -> String {
        let keys = CarrierKeys(site: currentSite())
        let key = try await keys.signing()
        var draft = TokenDraft(.idToken, type: "JWT", claims: claims(of: grant, now: now), key: key, now: now)
        if let standIn = site.carrier.standIn, let facts = grant.facts { standIn.changeIDToken(&draft.claims, facts) }
        if site.carrier.includesAccessTokenHash {
            draft.claims["at_hash"] = .string(TokenDraft.accessTokenHash(accessToken))
        }
        draft.claims["aka"] = try await portTokens(grant.user?.formerAccounts ?? [], now: now)
        if isRefreshed {
            draft.claims["nonce"] = nil
        } else if !site.carrier.isCarrier {
            let sessionID = Base64URL.encode(Digest.sha256(Array("session \(accessToken)".utf8)).prefix(16))
            draft.claims["sid"] = .string(sessionID)
            simulator.withState { $0.latestSessionIDs[site.mccmnc] = sessionID }
        }
        if let requestID {
            draft.claims["urn:openid:params:jwt:claim:auth_req_id"] = .string(
                site.has(.idTokenOtherRequestID) ? "another-request" : requestID)
        }
        let needsUnpublishedKey = !site.carrier.faults.isDisjoint(
            with: [.idTokenStrangerKey, .idTokenEmbeddedKey, .idTokenEmbeddedKeyURL])
        let other = simulator.carriers.first { $0.mccmnc != site.mccmnc }?.mccmnc ?? "999990"
        draft.apply(
            site.carrier.faults, prefix: "id-token-",
            .init(
                site: site, otherIssuer: "\(site.base)/carriers/\(other)",
                unpublishedKey: needsUnpublishedKey ? try await keys.unpublished() : key, secret: client.secret))
        for edit in site.carrier.tampering.idTokens { edit(&draft) }
        var token = TokenDraft.changeForm(try draft.serialized(), site.carrier.faults)
        if !site.carrier.isCarrier, !isRefreshed {
            // A relying party brings it back without its encryption (OpenID Connect Core section 3.1.2.1).
            simulator.withState { [token] in $0.latestIDTokens[site.mccmnc] = token }
        }
        if let encryption = client.idTokenEncryption { token = try encryption.encrypted(token) }
        for edit in site.carrier.tampering.compactForms { edit(&token) }
        return token
    }

    private func claims(of grant: Grant, now: Timestamp) -> JSONMembers {
        let terms = grant.terms
        var claims: JSONMembers = [
            "iss": .string(site.tokenIssuer), "sub": .string(grant.subject), "aud": .string(terms.clientID),
            "exp": .time(now.advanced(bySeconds: Grant.tokenLifetime)), "iat": .time(now),
            "auth_time": .time(grant.approvedAt),
        ]
        if site.carrier.standIn == nil { claims["acr"] = .string(terms.acr) }
        claims["nonce"] = .string(terms.nonce)
        claims["context"] = .string(terms.context)
        return claims
    }

    /// The carrier, after its keys were rotated if a fault asks for that just before signing.
    private func currentSite() -> CarrierSite {
        guard site.has(.idTokenRotatedKey) else { return site }
        simulator.rotateKeys(site.mccmnc)
        return simulator.withState { $0.site(site.mccmnc) } ?? site
    }
}

/// Port tokens, each signed by a user's former carrier and shown by the present one.
extension IDTokenIssuer {
    /// The value of `aka` for a user; nil if the user never had another carrier.
    private func portTokens(_ accounts: [CarrierSimulator.FormerAccount], now: Timestamp) async throws -> JSONValue? {
        var tokens: [JSONValue] = []
        for account in accounts {
            guard let former = simulator.withState({ $0.site(account.mccmnc) }) else { continue }
            tokens.append(.string(try await portToken(account, former, now)))
        }
        guard let first = tokens.first else { return nil }
        if site.has(.portTokenNotInArray) { return first }
        if site.has(.portTokenNotText) { return ["token": first] }
        if site.has(.portTokenAmongJunk) { return .array([.null, 7, "not a token", "e30.e30.e30", [:]] + tokens) }
        if site.has(.portTokenAfterMany) { return .array(Array(repeating: "e30.e30.e30", count: 8) + tokens) }
        return .array(tokens)
    }

    private func portToken(
        _ account: CarrierSimulator.FormerAccount, _ former: CarrierSite, _ now: Timestamp
    ) async throws -> String {
        let keys = CarrierKeys(site: former)
        let subject = Subject.identifier(mccmnc: former.mccmnc, clientID: client.id, userID: account.userID)
        var draft = TokenDraft(
            .portToken, type: "port_token+jwt",
            claims: [
                "iss": .string(former.issuer), "sub": .string(subject),
                "iat": .time(now.advanced(bySeconds: -account.age)), "aud": .string(client.id),
            ], key: try await keys.signing(), now: now)
        guard !site.carrier.faults.isEmpty else { return try draft.serialized() }
        draft.apply(
            site.carrier.faults, prefix: "port-token-",
            .init(
                site: site, unpublishedKey: try await keys.unpublished(),
                presentKey: try await CarrierKeys(site: site).signing(),
                secret: client.secret))
        return site.has(.portTokenNotJWT) ? "a port token that is none" : try draft.serialized()
    }
}
