import Primitives

/// Makes the port tokens that an ID token's `aka` shows, each signed by a user's former carrier, with the present
/// carrier's faults.
struct PortTokenIssuer: Sendable {
    let simulator: CarrierSimulator
    /// The present carrier.
    let site: CarrierSite
    let client: CarrierSimulator.Client

    /// The value of `aka` for a user, or nil if the user never had another carrier.
    func claim(for user: CarrierSimulator.User, now: Timestamp) async throws -> JSON? {
        var tokens: [JSON] = []
        for account in user.formerAccounts {
            guard let former = simulator.withState({ $0.site(account.mccmnc) }) else { continue }
            tokens.append(.text(try await token(account, former, now)))
        }
        guard let first = tokens.first else { return nil }
        if site.has(.portTokenNotInArray) { return first }
        if site.has(.portTokenNotText) { return ["token": first] }
        if site.has(.portTokenAmongJunk) { return .array([.null, 7, "not a token", "e30.e30.e30", [:]] + tokens) }
        if site.has(.portTokenAfterMany) { return .array(Array(repeating: "e30.e30.e30", count: 8) + tokens) }
        return .array(tokens)
    }

    private func token(
        _ account: CarrierSimulator.FormerAccount, _ former: CarrierSite, _ now: Timestamp
    ) async throws -> String {
        let keys = CarrierKeys(site: former, pool: simulator.keyPool)
        let key = try await keys.signing()
        var draft = IDTokenDraft(
            header: ["typ": "port_token+jwt", "alg": .text(key.algorithm), "kid": .text(key.keyID)],
            claims: [
                "iss": .text(former.issuer),
                "sub": .text(
                    Subject.identifier(mccmnc: former.mccmnc, clientID: client.id, userID: account.userID)),
                "iat": .number(now.advanced(bySeconds: -account.age).secondsSinceEpoch),
                "aud": .text(client.id),
            ], key: key, now: now)
        guard !site.carrier.faults.isEmpty else { return try draft.serialized() }
        let present = try await CarrierKeys(site: site, pool: simulator.keyPool).signing()
        for fault in site.carrier.faults.sorted(by: { $0.rawValue < $1.rawValue }) {
            draft.changePortTokenClaims(fault, now: now)
            draft.changePortTokenSignature(fault, stranger: try await keys.stranger(), present: present)
        }
        return site.has(.portTokenNotJWT) ? "a port token that is none" : try draft.serialized()
    }
}
