import HTTPServer
import HTTPTypes
import Primitives

/// What a device or a provider's SDK gives to an app that signs a user in without a browser.
extension CarrierSimulator {
    /// An ID token, and what comes beside it.
    public struct NativeToken: Sendable {
        public let idToken: String
        /// Valid once and for five minutes, for the audience of the token, and without a redirect URI.
        public let authorizationCode: String
        /// As the app gets it beside the token: a JSON text with the user's name.
        public let user: String
    }

    /// - Parameters:
    ///   - name: Of a stand-in that has such tokens.
    ///   - audience: The client id that the token is for.
    ///   - app: The app's own client id, where it is another than the audience.
    ///   - user: The id of one of the provider's users; nil for the first.
    ///   - edit: Changes the token before it is signed.
    /// - Throws: ``OAuthError`` if there is no such provider, or no such user.
    package func issueNativeToken(
        at name: String, audience: String, app: String? = nil, nonce: String? = nil, user: String? = nil,
        changing edit: (inout TokenDraft) -> Void = { _ in }
    ) async throws -> NativeToken {
        guard let site = withState({ $0.site(name) }), let standIn = site.carrier.standIn,
            let change = standIn.changeNativeToken
        else { throw OAuthError("not_found", "The provider has no native ID tokens.", status: .notFound) }
        guard let person = site.carrier.user(user)
        else { throw OAuthError("user_not_found", "The provider has no such user.", status: .notFound) }
        let now = clock.now()
        let terms = GrantTerms(
            clientID: audience, nonce: nonce, scopes: ["openid", "profile", "name", "email"], acr: "",
            sharesSubjects: true, isNative: true)
        let grant = Grant(mccmnc: site.mccmnc, terms: terms, user: person, approvedAt: now)
        let facts = StandIn.Facts(user: person, terms: terms, subject: grant.subject)
        var draft = TokenDraft(
            .idToken, type: "JWT",
            claims: [
                "iss": .string(site.tokenIssuer), "sub": .string(grant.subject), "aud": .string(audience),
                "exp": .time(now.advanced(bySeconds: 3600)), "iat": .time(now), "auth_time": .time(now),
            ], key: try await CarrierKeys(site: site).signing(), now: now)
        draft.claims["nonce"] = .string(nonce)
        standIn.changeIDToken(&draft.claims, facts)
        change(&draft.claims, facts, app ?? audience)
        edit(&draft)
        let names: JSONMembers = [
            "firstName": .string(person.givenName), "lastName": .string(person.familyName),
        ]
        return NativeToken(
            idToken: try draft.serialized(), authorizationCode: makeCode(terms, of: person, at: site),
            user: JSONValue.object(of: [("name", names.value)]).text)
    }
}

extension ControlEndpoints {
    /// `POST {issuer}/native-tokens` with any of `audience`, `app`, `nonce` and `user`: what an app sends to its
    /// backend, so a shell can pass it on. The default audience is the first client, and the nonce a fresh one.
    func makeNativeToken(_ request: Request) async throws -> Response {
        let site = try simulator.site(of: request)
        let parameters = try Parameters(contentOf: request)
        let client = simulator.clients.keys.min() ?? ""
        let nonce = parameters["nonce"] ?? simulator.random.token(bytes: 16)
        let isHashed = site.carrier.standIn?.appsHashNonces ?? false
        let token = try await simulator.issueNativeToken(
            at: site.mccmnc, audience: parameters["audience"] ?? client, app: parameters["app"],
            nonce: isHashed ? Digest.sha256(Array(nonce.utf8)).hexadecimal : nonce, user: parameters["user"])
        return .json([
            "id_token": .string(token.idToken), "nonce": .string(nonce),
            "authorization_code": .string(token.authorizationCode), "user": .string(token.user),
        ])
    }
}
