import Crypto
public import Primitives

extension CarrierSimulator {
    /// What stands in for a well-known provider: what its public documentation says of requests and responses. What it
    /// does not say is as at the simulator's own providers.
    public struct StandIn: Sendable {
        /// The name of the provider's preset in the configuration, and of the stand-in in paths.
        public let name: String
        /// The name that users see.
        public let title: String
        /// The public document.
        public let source: String
        /// What was read of it, and what else, where the facts were looked up again; nil otherwise.
        package var reading: String?
        /// Whether it has metadata and ID tokens.
        public let isOpenID: Bool

        // Requests.
        /// How clients may authenticate.
        var authenticationMethods = ["client_secret_basic", "client_secret_post"]
        /// Whether a client secret is a JWT that the client signs.
        var takesSignedSecrets = false
        /// The names that it has for parameters of RFC 6749, which it does not know then.
        var names: [String: String] = [:]
        /// The further parameters that an authorization request may have; nil if unknown ones are ignored.
        var knownParameters: Set<String>?
        /// The parameters that an authorization request must have.
        var demandedParameters: [String: String] = [:]
        /// The scopes that there are; nil for any.
        var scopes: Set<String>?
        var scopeSeparator: Character = " "
        /// Whether authorization requests have a code challenge; nil if it is ignored.
        var pkce: Carrier.CodeChallenges? = .optional
        /// Whether token requests are GET.
        var takesGET = false
        /// Whether requests with an access token have it in the query.
        var takesTokensInQuery = false

        // Responses.
        var refresh = Refresh.always
        var logout = Logout.none
        /// Whether metadata has a revocation endpoint (RFC 7009).
        var revokes = false
        /// What follows the stand-in's address in its issuer. `{tenantid}` stands for the tenant, and is so in
        /// metadata.
        var issuerPath = ""
        /// Whether authorization responses name the issuer (RFC 9207).
        var namesIssuer = false
        /// Whether an ID token repeats the nonce.
        var repeatsNonce = true
        var changeIDToken: @Sendable (inout JSONMembers, Facts) -> Void = { _, _ in }
        /// What an ID token that an app gets on the device has besides, where the app has a client id of its own; nil
        /// if there are no such tokens.
        var changeNativeToken: (@Sendable (inout JSONMembers, Facts, _ app: String) -> Void)?
        /// Whether apps have the SHA-256 of their nonce put into such a token.
        var appsHashNonces = false
        var changeTokens: @Sendable (inout JSONMembers, Facts) -> Void = { _, _ in }
        /// The parameters of an authorization response beside the code, at the user's first sign-in.
        var firstParameters: @Sendable (Facts) -> [(name: String, value: String?)] = { _ in [] }
        /// Userinfo, or the response of the user endpoint; nil if the provider has none.
        var user: (@Sendable (Facts) -> JSONMembers)? = { $0.claims() }
        /// The response of the endpoint for e-mail addresses; nil if it has none.
        var emails: (@Sendable (Facts) -> JSONValue)?
        /// The response to a refused token request; nil for that of RFC 6749 section 5.2.
        var tokenRefusal: (@Sendable (_ code: String) -> JSONMembers)?

        /// What its responses have besides, for ``deviations``.
        var notes: [String] = []

        // Its preset.
        /// What its section of the configuration has besides the client and the addresses.
        var settings: [(key: String, value: String)] = []
        /// The query of the user endpoint.
        public var userQuery = ""
        /// Where its metadata is, below its address, if not at its issuer.
        var metadataPath: String?

        // What a test expects of a sign-in with the preset.
        /// Whether the user's profile has a name.
        package var givesName = true
        /// Whether the user's profile has an e-mail address, and it is verified; nil for no address.
        package var givesVerifiedEmail: Bool? = true

        enum Refresh: Sendable {
            case always, never
            /// Only with this scope.
            case scope(String)
            /// Only if the authorization request has this parameter.
            case parameter(String, String)
        }

        enum Logout: Sendable {
            case none
            /// OpenID Connect RP-Initiated Logout 1.0.
            case standard
            /// That, but with `id_token_hint` it is an error.
            case withoutHint
            /// With `client_id` and `logout_uri` alone, and without `state` in the response.
            case cognito
            /// With `client_id`, `logout_redirect_uri` and `state`, at an endpoint that is in no metadata.
            case kakao
        }

        init(_ name: String, _ title: String, _ source: String, isOpenID: Bool) {
            (self.name, self.title, self.source, self.isOpenID) = (name, title, source, isOpenID)
        }

        /// Whether a sign-in can have a refresh token.
        package var hasRefresh: Bool {
            if case .never = refresh { false } else { true }
        }

        /// Whether users can be signed out there.
        package var hasLogout: Bool { logout != .none }

        /// How its deviations read in a table, each a few words.
        package var deviations: [String] {
            var texts: [String] = []
            if authenticationMethods.count == 1 { texts.append("\(authenticationMethods[0]) only") }
            if takesSignedSecrets { texts.append("a signed secret") }
            texts += names.sorted { $0.key < $1.key }.map { "`\($0.value)` for `\($0.key)`" }
            if knownParameters != nil { texts.append("refuses unknown parameters") }
            texts += demandedParameters.sorted { $0.key < $1.key }.map { "demands `\($0.key)=\($0.value)`" }
            if scopeSeparator != " " { texts.append("`\(scopeSeparator)` between scopes") }
            if scopes != nil { texts.append("refuses unknown scopes") }
            switch pkce {
            case .required: texts.append("demands PKCE")
            case .refused: texts.append("refuses PKCE")
            case nil: texts.append("ignores PKCE")
            case .optional: break
            }
            if takesGET { texts.append("GET token requests") }
            if takesTokensInQuery { texts.append("access tokens in the query") }
            if issuerPath.contains("{") { texts.append("an issuer for each tenant") }
            if metadataPath != nil { texts.append("metadata elsewhere than at the issuer") }
            if namesIssuer { texts.append("`iss` in responses") }
            if isOpenID, !repeatsNonce { texts.append("no nonce in ID tokens") }
            if isOpenID, user == nil { texts.append("no userinfo") }
            if changeNativeToken != nil { texts.append("native ID tokens") }
            if emails != nil { texts.append("e-mail addresses by a second request") }
            if tokenRefusal != nil { texts.append("errors of the token endpoint with status 200") }
            switch refresh {
            case .scope(let scope): texts.append("refresh tokens for the scope `\(scope)` only")
            case .parameter(let name, let value): texts.append("refresh tokens for `\(name)=\(value)` only")
            case .always, .never: break
            }
            return texts + notes
        }
    }
}

extension CarrierSimulator.StandIn {
    /// What the responses about a user are made of.
    struct Facts: Sendable {
        let user: CarrierSimulator.User
        let terms: GrantTerms
        /// The user's identifier.
        let subject: String
        /// The query of the request.
        var query = Parameters()

        /// An identifier that is a number, as a text.
        var number: String { String(subject.utf8.reduce(7) { ($0 * 31 + Int($1)) % 1_000_000_007 }) }

        func has(_ scope: String) -> Bool { terms.scopes.contains(scope) }

        /// The claims of OpenID Connect Core section 5.4.
        func claims(verified: JSONValue? = true) -> JSONMembers {
            var claims: JSONMembers = ["sub": .string(subject)]
            if has("profile") {
                claims["name"] = .string(user.name)
                claims["given_name"] = .string(user.givenName)
                claims["family_name"] = .string(user.familyName)
            }
            if has("email") {
                claims["email"] = .string(user.email)
                claims["email_verified"] = verified
            }
            return claims
        }
    }

    /// The tenant of all users where the issuer has one: that of personal Microsoft accounts.
    static let tenant = "9188040d-6c67-4c5b-b112-36a304b66dad"

    /// The stand-in as one of a simulator's providers.
    public var carrier: CarrierSimulator.Carrier {
        var carrier = CarrierSimulator.Carrier(
            mccmnc: name, name: title, userInfoShape: .flat, includesAccessTokenHash: true, isCarrier: false,
            hasIDTokens: isOpenID)
        carrier.authenticationMethods = authenticationMethods
        carrier.checksCodeVerifier = pkce != nil
        carrier.codeChallenges = pkce ?? .optional
        carrier.standIn = self
        return carrier
    }

    /// The parameters of a request under the names of RFC 6749.
    func translated(_ parameters: Parameters) -> Parameters {
        guard !names.isEmpty else { return parameters }
        var translated = parameters
        translated.items = parameters.items.compactMap { item in
            if names[item.name] != nil { return nil }
            let name = names.first { $0.value == item.name }?.key ?? item.name
            return Parameters.Item(name: name, value: item.value)
        }
        return translated
    }

    /// A client of the stand-in, with its credential: a secret, or a private key in PEM where the provider demands one.
    /// - Parameter url: The URL of the server whose client it is. Of `http://127.0.0.1`, any port is registered.
    public func client(
        _ id: String, of url: String, random: RandomSource = .system
    ) -> (client: CarrierSimulator.Client, credential: Secret) {
        let key = P256.Signing.PrivateKey()
        let credential = Secret(takesKey ? key.pemRepresentation : random.token())
        var client = CarrierSimulator.Client(
            id: id, secret: credential, redirectURIs: ["\(url)/auth/\(name)/callback"])
        client.postLogoutRedirectURIs = ["\(url)/auth/\(name)/logged-out"]
        if takesKey {
            client.publicKeyPEM = key.publicKey.pemRepresentation
            if !takesSignedSecrets {
                client.authentication = .privateKeyJWT(publicKeyPEM: key.publicKey.pemRepresentation)
            }
        }
        return (client, credential)
    }

    /// Whether clients have a private key.
    private var takesKey: Bool { takesSignedSecrets || authenticationMethods == ["private_key_jwt"] }

    /// The stand-in's section in a configuration, with its preset and the addresses of a simulator.
    /// - Parameters:
    ///   - base: The simulator's URL.
    ///   - credential: As ``client(_:of:random:)`` returns it.
    public func configuration(at base: String, clientID: String, credential: Secret) -> [(key: String, value: String)] {
        func text(_ text: String) -> String { JSONValue.string(text).text }
        let address = "\(base)/providers/\(name)"
        var section = [("client_id", text(clientID))]
        section.append((takesKey ? "private_key" : "client_secret", text(credential.exposed)))
        section += settings
        if isOpenID {
            section.append(("issuer", text(address + issuerPath)))
            if let metadataPath { section.append(("metadata_url", text(address + metadataPath))) }
            if logout == .kakao { section.append(("end_session_endpoint", text(address + "/logout"))) }
        } else {
            section += [
                ("authorization_endpoint", text(address + "/authorize")), ("token_endpoint", text(address + "/token")),
                ("user_endpoint", text(address + "/userinfo" + userQuery)),
            ]
            if changeNativeToken != nil { section.append(("jwks_uri", text(address + "/jwks"))) }
            if emails != nil { section.append(("emails_endpoint", text(address + "/emails"))) }
        }
        return section
    }
}
