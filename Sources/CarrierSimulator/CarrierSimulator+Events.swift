import HTTPTypes
package import Primitives

extension CarrierSimulator {
    /// Makes a security event token of a provider (RFC 8417), as Shared Signals has it.
    /// - Parameters:
    ///   - clientID: The audience.
    ///   - events: The member `events`.
    ///   - isPublished: Whether the key that signs it is one of the provider's.
    ///   - change: Changes the token before it is signed.
    /// - Returns: The token in compact form.
    /// - Throws: ``OAuthError`` with `not_found` for an unknown provider.
    package func eventToken(
        of provider: String, clientID: String, events: JSONValue, isPublished: Bool = true,
        change: (inout TokenDraft) -> Void = { _ in }
    ) async throws -> String {
        guard let site = withState({ $0.site(provider) }) else {
            throw OAuthError("not_found", "There is no such provider.", status: .notFound)
        }
        let keys = CarrierKeys(site: site)
        let key = isPublished ? try await keys.signing() : try await keys.unpublished()
        var draft = TokenDraft(
            .eventToken, type: "secevent+jwt",
            claims: [
                "iss": .string(site.issuer), "aud": .string(clientID), "iat": .time(clock.now()),
                "jti": .string(random.token(bytes: 16)), "events": events,
            ], key: key, now: clock.now())
        change(&draft)
        return try draft.serialized()
    }

    /// The subject by which a provider knows a user, for a client.
    package func subject(of user: String, at provider: String, clientID: String) -> String {
        Subject.identifier(mccmnc: provider, clientID: clientID, userID: user)
    }
}
