import Primitives

/// Makes the ID tokens of a carrier, with its present faults.
struct IDTokenIssuer: Sendable {
    let simulator: CarrierSimulator
    let site: CarrierSite
    let client: CarrierSimulator.Client

    /// - Parameter requestID: Of the server-initiated request that the token is for (CIBA Core section 10.3.1).
    func issue(
        for grant: Grant, accessToken: String, requestID: String? = nil, now: Timestamp
    ) async throws -> String {
        let keys = CarrierKeys(site: currentSite(), pool: simulator.keyPool)
        var draft = IDTokenDraft(grant: grant, issuer: site.issuer, key: try await keys.signing(), now: now)
        if site.carrier.includesAccessTokenHash {
            draft.claims["at_hash"] = .text(IDTokenDraft.accessTokenHash(accessToken))
        }
        draft.claims["aka"] = try await PortTokenIssuer(simulator: simulator, site: site, client: client)
            .claim(for: grant.user, now: now)
        if !site.carrier.isCarrier {
            let sessionID = Base64URL.encode(Digest.sha256(Array("session \(accessToken)".utf8)).prefix(16))
            draft.claims["sid"] = .text(sessionID)
            simulator.withState { $0.latestSessionIDs[site.mccmnc] = sessionID }
        }
        if let requestID {
            draft.claims["urn:openid:params:jwt:claim:auth_req_id"] = .text(
                site.has(.idTokenOtherRequestID) ? "another-request" : requestID)
        }
        let stranger = needsStranger ? try await keys.stranger() : draft.key
        // In one order always, so that a token does not depend on how a set lies in memory.
        for fault in site.carrier.faults.sorted(by: { $0.rawValue < $1.rawValue }) {
            draft.changeClaims(fault, neighbour: neighbour, now: now)
            draft.changeSignature(fault, site: site, stranger: stranger, secret: client.secret)
        }
        for edit in site.carrier.tampering.idTokens { edit(&draft) }
        var token = IDTokenDraft.changeForm(try draft.serialized(), site.carrier.faults)
        for edit in site.carrier.tampering.compactForms { edit(&token) }
        return token
    }

    /// The carrier, after its keys were rotated if that is to happen just before signing.
    private func currentSite() -> CarrierSite {
        guard site.has(.idTokenRotatedKey) else { return site }
        simulator.rotateKeys(site.mccmnc)
        return simulator.withState { $0.site(site.mccmnc) } ?? site
    }

    private var needsStranger: Bool {
        !site.carrier.faults.isDisjoint(with: [.idTokenStrangerKey, .idTokenEmbeddedKey, .idTokenEmbeddedKeyURL])
    }

    /// Another carrier's issuer, or that of one that is not there.
    private var neighbour: String {
        let other = simulator.carriers.first { $0.mccmnc != site.mccmnc }?.mccmnc ?? "999990"
        return "\(site.base)/carriers/\(other)"
    }
}
