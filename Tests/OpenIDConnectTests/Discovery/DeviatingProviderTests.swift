import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Providers that deviate from the specifications, as far as the settings allow it.
struct DeviatingProviderTests {
    private static let template = "https://login.carrier.example/m/{tenantid}"

    private func provider(_ relyingParty: RelyingParty) async throws(OIDCError) -> ProviderMetadata {
        guard let clientID = ClientID("client-1") else { throw OIDCError(.clientRefused, reason: "no client id") }
        return try await relyingParty.provider(for: nil, clientID: clientID, correlationID: .random(from: .system))
    }

    private func url(_ text: String) throws -> EndpointURL { try #require(EndpointURL(text, policy: .httpsOnly)) }

    // MARK: Metadata

    @Test("Metadata elsewhere is requested there alone, and must name the issuer", arguments: [true, false])
    func metadataURL(namesIssuer: Bool) async throws {
        let issuer = namesIssuer ? TokenDraft.issuer : "https://elsewhere.example"
        let carrier = FakeCarrier { $0.discovery = .json(FakeCarrier.metadata.with("issuer", "\"\(issuer)\"").text) }
        let url = try url("https://elsewhere.example/.well-known/openid-configuration")
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer) { $0.metadataURL = url }
        let error = await failure { () throws(OIDCError) in try await provider(relyingParty) }
        #expect(error?.code == (namesIssuer ? nil : .metadataRefused))
        #expect(carrier.http.requests.map(\.url) == [url])
    }

    @Test(
        "A configured endpoint wins over the metadata's, also where the metadata has none or a bad one",
        arguments: ["\"https://other.example/\"", "\"http://other.example/\"", "7", "null", nil] as [String?])
    func endpoints(_ json: String?) async throws {
        let names = [
            "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri", "end_session_endpoint",
        ]
        let metadata = names.reduce(FakeCarrier.metadata) { $0.with($1, json) }
        let carrier = FakeCarrier { $0.discovery = .json(metadata.text) }
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer) { configuration in
            for name in names {
                configuration.endpoints[name] = EndpointURL("https://own.example/\(name)", policy: .httpsOnly)
            }
        }
        let found = try await provider(relyingParty)
        let urls = [
            found.authorizationEndpoint, found.tokenEndpoint, found.userInfoEndpoint, found.jwksURI,
            found.endSessionEndpoint,
        ]
        #expect(urls.map { $0?.text } == names.map { "https://own.example/\($0)" })
    }

    private func configure(_ names: [String], in configuration: inout RelyingParty.Configuration) {
        for name in names {
            configuration.endpoints[name] = EndpointURL("https://own.example/\(name)", policy: .httpsOnly)
        }
    }

    @Test(
        "Where all that a sign-in needs is configured, there need be no metadata",
        arguments: [
            (404, ""), (410, "<html></html>"), (200, "<html></html>"), (403, #"{"error":"forbidden"}"#), (302, ""),
            (429, ""), (503, ""),
        ])
    func withoutMetadata(_ status: Int, _ body: String) async throws {
        let carrier = FakeCarrier { $0.discovery = .json(body, status: status) }
        let needed = ["authorization_endpoint", "token_endpoint", "jwks_uri"]
        for names in [needed, Array(needed.dropFirst()), Array(needed.dropLast())] {
            let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer) { configure(names, in: &$0) }
            let error = await failure { () throws(OIDCError) in
                let found = try await provider(relyingParty)
                #expect(found.issuer == TokenDraft.issuer && found.jwksURI?.text == "https://own.example/jwks_uri")
            }
            #expect((error == nil) == (names == needed && [404, 410].contains(status)))
        }
    }

    @Test("Metadata that was there serves on where it is not found any more, with what it demands")
    func lostMetadata() async throws {
        let member = "authorization_response_iss_parameter_supported"
        let carrier = FakeCarrier { $0.discovery = .json(FakeCarrier.metadata.with(member, "true").text) }
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer) {
            configure(["authorization_endpoint", "token_endpoint", "jwks_uri"], in: &$0)
        }
        let known = try await provider(relyingParty)
        carrier.change { $0.discovery = .json("", status: 404) }
        carrier.clock.advance(bySeconds: 86_400)
        let served = try await provider(relyingParty)
        #expect(served == known && served.namesIssuerInResponses)
        #expect(carrier.http.requests.count == 2)
    }

    @Test("A configured token endpoint needs no response type in the metadata that uses one", arguments: [true, false])
    func responseTypes(isConfigured: Bool) async throws {
        let metadata = FakeCarrier.metadata.with("response_types_supported", "[\"id_token\",\"token id_token\"]")
        let carrier = FakeCarrier { $0.discovery = .json(metadata.with("token_endpoint", nil).text) }
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer) {
            configure(isConfigured ? ["token_endpoint"] : [], in: &$0)
        }
        let error = await failure { () throws(OIDCError) in try await provider(relyingParty) }
        #expect(error?.code == (isConfigured ? nil : .metadataRefused))
    }

    @Test(
        "A userinfo endpoint that cannot be used counts as none",
        arguments: ["\"\"", "\"http://login.carrier.example/x\"", "\"/userinfo\"", "false", "[]"])
    func badUserInfoEndpoint(_ json: String) async throws {
        let carrier = FakeCarrier { $0.discovery = .json(FakeCarrier.metadata.with("userinfo_endpoint", json).text) }
        #expect(try await provider(carrier.relyingParty(ofIssuer: TokenDraft.issuer)).userInfoEndpoint == nil)
    }

    @Test(
        "A redirect of metadata is not followed, and the error says where it leads and what to set",
        arguments: [
            (
                "https://new.example/x/.well-known/openid-configuration",
                "https://new.example/x/.well-known/openid-configuration, which is not followed. If it is the "
                    + "provider's, set issuer to https://new.example/x."
            ),
            ("https://new.example/m", "set metadata_url to this address."),
            ("/m", "status 301, and neither metadata"), ("//new.example/m", "status 301, and neither metadata"),
            ("https://new.example/m?code=secret", "status 301, and neither metadata"),
            ("https://user@new.example/m", "status 301, and neither metadata"),
            ("javascript:alert(1)", "status 301, and neither metadata"), (nil, "status 301, and neither metadata"),
        ] as [(String?, String)])
    func redirect(_ location: String?, _ says: String) async throws {
        for body in ["{}", "<html>"] {
            let carrier = FakeCarrier {
                $0.discovery = .json(body, status: 301)
                $0.discovery.location = location
            }
            let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer)
            let error = await failure { () throws(OIDCError) in try await provider(relyingParty) }
            #expect(error?.code == .unusableResponse)
            let expected = body == "{}" || !says.contains("neither metadata") ? says : "of status 301, is not a JSON"
            #expect(error?.reason.contains(expected) == true, "\(error?.reason ?? "")")
            #expect(carrier.http.requests.count == 1)
        }
    }

    // MARK: Responses

    /// Reads a token response of a carrier and of another provider.
    private func tokens(_ response: OutboundResponse) async throws -> [OIDCError?] {
        let carrier = FakeCarrier { $0.token = response }
        let subjects = try SignInSubjects()
        let client = ClientCredentials(
            clientID: subjects.clientID, authentication: .clientSecretBasic(Secret("s")))
        var errors: [OIDCError?] = []
        for party in [try carrier.relyingParty(), try carrier.relyingParty(ofIssuer: TokenDraft.issuer)] {
            errors.append(
                await failure { () async throws(OIDCError) in
                    let tokens = try await party.exchange(
                        code: Secret("c"), redirectURI: "a:/b", codeVerifier: nil, client: client,
                        provider: try await party.provider(subjects), correlationID: subjects.correlationID)
                    #expect(tokens.accessToken == Secret("access-1"))
                })
        }
        return errors
    }

    @Test(
        "What a token response need not have ends no sign-in; a carrier's must be right",
        arguments: [
            ("expires_in", "-1"), ("expires_in", "\"never\""), ("expires_in", "\"\""), ("expires_in", "false"),
            ("expires_in", "{}"), ("expires_in", "1e300"), ("token_type", "null"), ("token_type", "\"\""),
        ])
    func extras(_ member: String, _ json: String) async throws {
        let errors = try await tokens(.json(FakeCarrier.tokens.with(member, json).text))
        #expect(errors.map { $0?.code } == [.unusableResponse, nil])
    }

    @Test(
        "Tokens are read under any label, after a byte order mark and with status 201; a carrier's are not",
        arguments: [
            ("text/html; charset=utf-8", 200, ""), ("application/x-www-form-urlencoded", 200, ""),
            ("application/json", 200, "\u{FEFF}"), ("application/json", 201, ""),
        ])
    func labels(_ contentType: String, _ status: Int, _ mark: String) async throws {
        let body = Array((mark + FakeCarrier.tokens.text).utf8)
        let errors = try await tokens(OutboundResponse(status: status, contentType: contentType, body: body))
        #expect(errors.map { $0?.code } == [.unusableResponse, nil])
    }

    @Test("A key set is read after a byte order mark; a carrier's is not")
    func markedKeySet() async throws {
        let carrier = FakeCarrier { $0.keys = .json("\u{FEFF}" + TestKey.keySet(.rsa1)) }
        let subjects = try SignInSubjects()
        var codes: [OIDCError.Code?] = []
        for party in [try carrier.relyingParty(), try carrier.relyingParty(ofIssuer: TokenDraft.issuer)] {
            let provider = try await party.provider(subjects)
            codes.append(
                await failure { () async throws(OIDCError) in try await party.signingKeys(of: provider) }?.code)
        }
        #expect(codes == [.keysUnavailable, nil])
    }

    // MARK: Tenants

    @Test(
        "Metadata of several tenants has the template, or the issuer of an allowed tenant",
        arguments: [
            ("{tenantid}", true), ("{tenant}", true), ("t-1", true), ("t-2", false), ("", false), ("{x}", false),
            ("t-1/x", false),
        ])
    func tenantMetadata(_ tenant: String, isAccepted: Bool) async throws {
        let issuer = "https://login.carrier.example/m/\(tenant)"
        let carrier = FakeCarrier { $0.discovery = .json(FakeCarrier.metadata.with("issuer", "\"\(issuer)\"").text) }
        let relyingParty = try carrier.relyingParty(ofIssuer: "https://login.carrier.example/m/common") {
            $0.idTokenRules.tenants = TenantIssuers(Self.template, allowing: ["t-1"])
        }
        do throws(OIDCError) {
            let found = try await provider(relyingParty)
            #expect(isAccepted && found.issuer == Self.template)
        } catch {
            #expect(!isAccepted && error.code == .metadataRefused)
        }
    }

    struct TenantRow: Sendable, CustomTestStringConvertible {
        let issuer: String
        let tenant: String?
        var isAllowed = false
        /// Whether it is accepted where any tenant is.
        var isGood = false
        var testDescription: String { "\(issuer) \(tenant ?? "without tid")" }
    }

    @Test(
        "An ID token has the issuer of an allowed tenant, with its id",
        arguments: [
            TenantRow(issuer: "https://login.carrier.example/m/t-1", tenant: "t-1", isAllowed: true, isGood: true),
            TenantRow(issuer: "https://login.carrier.example/m/t-2", tenant: "t-2", isGood: true),
            TenantRow(issuer: "https://login.carrier.example/m/t-1", tenant: "t-2"),
            TenantRow(issuer: "https://login.carrier.example/m/t-1", tenant: nil),
            TenantRow(issuer: "https://login.carrier.example/m/t-1", tenant: "T-1"),
            TenantRow(issuer: "https://login.carrier.example/m/", tenant: ""),
            TenantRow(issuer: "https://login.carrier.example/m/a/b", tenant: "a/b"),
            TenantRow(issuer: "https://login.carrier.example/m/t-1/", tenant: "t-1"),
            TenantRow(issuer: "https://login.carrier.example.evil/m/t-1", tenant: "t-1"),
            TenantRow(issuer: template, tenant: "{tenantid}"), TenantRow(issuer: template, tenant: "t-1"),
        ])
    func tenantTokens(row: TenantRow) throws {
        for allowed in [["t-1"], nil] as [Set<String>?] {
            var draft = TokenDraft()
            draft.claims["iss"] = "\"\(row.issuer)\""
            draft.claims["tid"] = row.tenant.map { "\"\($0)\"" }
            let found = try verified(draft) { $0.tenants = TenantIssuers(Self.template, allowing: allowed) }
            let isGood = allowed == nil ? row.isGood : row.isAllowed
            switch found {
            case .success(let token): #expect(isGood && token.issuer == row.issuer)
            case .failure(let error): #expect(!isGood && error.check == .issuer)
            }
        }
    }

    @Test(
        "A key that is for one tenant signs for no other",
        arguments: [
            (template, true), ("https://login.carrier.example/m/t-1", true), (nil, true),
            ("https://login.carrier.example/m/t-2", false), ("https://other.example/{tenantid}/v2.0", false),
        ] as [(String?, Bool)])
    func keyOfTenant(issuer: String?, isAccepted: Bool) throws {
        var draft = TokenDraft()
        draft.claims["iss"] = "\"https://login.carrier.example/m/t-1\""
        draft.claims["tid"] = "\"t-1\""
        let key = issuer.map { TestKey.rsa1.jwk.with("issuer", "\"\($0)\"") } ?? TestKey.rsa1.jwk
        let found = try verified(draft, key) { $0.tenants = TenantIssuers(Self.template, allowing: ["t-1"]) }
        switch found {
        case .success: #expect(isAccepted)
        case .failure(let error): #expect(!isAccepted && error.check == .key)
        }
        // The issuer of a key counts where there are tenants only.
        draft.claims["iss"] = "\"\(TokenDraft.issuer)\""
        #expect(throws: Never.self) { try verified(draft, key) { _ in }.get() }
    }

    private func verified(
        _ draft: TokenDraft, _ key: JSONDraft = TestKey.rsa1.jwk, _ change: (inout IDTokenRules) -> Void
    ) throws -> Result<VerifiedIDToken, OIDCError> {
        var rules = IDTokenRules()
        change(&rules)
        let keys = try #require(JSONWebKeySet(parsing: Array(TestKey.keySet([key]).utf8)))
        let validator = IDTokenValidator(rules: rules, issuer: rules.tenants?.template ?? TokenDraft.issuer)
        let expectation = try expectation()
        let time = Timestamp(secondsSinceEpoch: TokenDraft.now)
        let token = try SignedToken(Secret(draft.text), maximumBytes: rules.maximumBytes, signedWith: [.rs256])
        let explanation = validator.explain(
            TokenExamination(Secret(draft.text), rules, keys: .success(keys)), signedWith: [.rs256],
            expecting: expectation, now: time)
        do throws(OIDCError) {
            let found = try validator.validate(token, keys: keys, expecting: expectation, now: time)
            #expect(explanation.isAccepted)
            return .success(found)
        } catch {
            #expect(!explanation.isAccepted)
            return .failure(error)
        }
    }

    // MARK: Audiences

    struct AudienceRow: Sendable, CustomTestStringConvertible {
        let audience: String
        var party: String?
        /// Whether both clients are among the trusted audiences, as they are where a project has several.
        var isTrusted = false
        let check: IDTokenCheck?
        var testDescription: String {
            "\(audience) \(party ?? "without azp")\(isTrusted ? ", clients are trusted" : "")"
        }
    }

    @Test(
        "Beside trusted audiences the client must be there, and be the authorized party",
        arguments: [
            AudienceRow(audience: #"["client-1","account"]"#, party: "client-1", check: nil),
            AudienceRow(audience: #"["account","client-1","api"]"#, party: "client-1", check: nil),
            AudienceRow(audience: #""client-1""#, check: nil), AudienceRow(audience: #"["client-1"]"#, check: nil),
            AudienceRow(audience: #"["client-1","account"]"#, check: .authorizedParty),
            AudienceRow(audience: #"["client-1","account"]"#, party: "account", check: .authorizedParty),
            AudienceRow(audience: #"["client-1","other"]"#, party: "client-1", check: .audience),
            AudienceRow(audience: #"["account","api"]"#, party: "client-1", check: .audience),
            AudienceRow(audience: #""account""#, party: "client-1", check: .audience),
            AudienceRow(audience: #"["client-1","client-1","account"]"#, party: "client-1", check: nil),
            AudienceRow(audience: #"["client-2","client-1","api"]"#, party: "client-1", isTrusted: true, check: nil),
            AudienceRow(audience: #"["client-1","client-2"]"#, party: "client-1", isTrusted: true, check: nil),
            AudienceRow(
                audience: #"["client-2","client-1"]"#, party: "client-2", isTrusted: true, check: .authorizedParty),
            AudienceRow(audience: #"["client-2"]"#, isTrusted: true, check: .audience),
            AudienceRow(audience: #"["client-2","api"]"#, party: "client-1", isTrusted: true, check: .audience),
            AudienceRow(audience: #"["client-1","account",7]"#, party: "client-1", check: .audience),
            AudienceRow(audience: #"["client-1","Account"]"#, party: "client-1", check: .audience),
        ])
    func audiences(row: AudienceRow) throws {
        var draft = TokenDraft()
        draft.claims["aud"] = row.audience
        draft.claims["azp"] = row.party.map { "\"\($0)\"" }
        let found = try verified(draft) {
            let clients = row.isTrusted ? ["client-1", "client-2"] : []
            $0.trustedAudiences = Set((["account", "api"] + clients).compactMap { ClientID($0) })
        }
        switch found {
        case .success: #expect(row.check == nil)
        case .failure(let error): #expect(error.check == row.check)
        }
    }

    @Test(
        "A client's further audiences are trusted in its own tokens, beside those of all",
        arguments: [
            ("client-1", "account", true, nil), ("client-1", nil, true, nil),
            ("client-1", nil, false, .authorizedParty), ("client-2", "account", true, .audience),
            ("client-2", nil, false, .audience),
        ] as [(String, String?, Bool, IDTokenCheck?)])
    func clientAudiences(_ client: String, _ shared: String?, _ hasParty: Bool, _ check: IDTokenCheck?) throws {
        var draft = TokenDraft()
        draft.claims["aud"] = shared.map { #"["client-1","\#($0)","own"]"# } ?? #"["client-1","own"]"#
        draft.claims["azp"] = hasParty ? #""client-1""# : nil
        let found = try verified(draft) {
            $0.trustedAudiences = Set([shared.flatMap { ClientID($0) }].compactMap(\.self))
            if let client = ClientID(client) { $0.clientAudiences[client] = Set([ClientID("own")].compactMap(\.self)) }
        }
        switch found {
        case .success: #expect(check == nil)
        case .failure(let error): #expect(error.check == check)
        }
    }

    @Test(
        "At providers other than carriers an optional claim that is null is absent, and a client named twice is one",
        arguments: [
            (["azp": "null"], nil, .authorizedParty), (["nbf": "null"], nil, .notBefore),
            (["auth_time": "null"], nil, .authTime), (["at_hash": "null"], nil, .accessTokenHash),
            (["azp": "null", "nbf": "null", "auth_time": "null", "at_hash": "null"], nil, .authorizedParty),
            (["aud": #"["client-1","client-1"]"#], nil, .audience),
            (["aud": #"["client-1","client-2"]"#], .audience, .audience), (["aud": "[]"], .audience, .audience),
            (["aud": #"["client-2","client-2"]"#], .audience, .audience),
            (["aud": #"["client-1",null]"#], .audience, .audience),
            (["azp": #""client-2""#], .authorizedParty, .authorizedParty), (["nbf": "[]"], .notBefore, .notBefore),
            (["nonce": "null"], .nonce, .nonce), (["sub": "null"], .subject, .subject),
            (["iss": "null"], .issuer, .issuer), (["aud": "null"], .audience, .audience),
            (["exp": "null"], .expiry, .expiry), (["iat": "null"], .issuedAt, .issuedAt),
        ] as [([String: String], IDTokenCheck?, IDTokenCheck?)])
    func nulls(_ claims: [String: String], _ lenient: IDTokenCheck?, _ strict: IDTokenCheck?) throws {
        var draft = TokenDraft()
        for (name, value) in claims { draft.claims[name] = value }
        for (isLenient, check) in [(true, lenient), (false, strict)] {
            let found = try verified(draft) { $0.isLenient = isLenient }
            switch found {
            case .success: #expect(check == nil, "\(isLenient)")
            case .failure(let error): #expect(error.check == check, "\(isLenient)")
            }
        }
    }

    // MARK: Requests

    @Test("Parameters of the provider's own follow those of the protocols, and replace none of them")
    func parameters() throws {
        var request = AuthorizationRequest(
            clientID: try #require(ClientID("client-1")), redirectURI: "https://app.example/cb", demand: .init(),
            state: Secret("s-1"), nonce: nil, codeChallenge: nil)
        request.parameters = ["state": "evil", "hd": "a b", "access_type": "offline"]
        let text = try request.url(at: url("https://login.example/authorize?tenant=x")).text
        #expect(
            text.hasSuffix("&state=s-1&access_type=offline&hd=a+b") || text.hasSuffix("&access_type=offline&hd=a%20b"))
        #expect(text.hasPrefix("https://login.example/authorize?tenant=x&client_id=client-1&"))
        for name in ["evil", "nonce", "code_challenge"] { #expect(!text.contains(name)) }
    }

    @Test(
        "A logout has the usual parameters, or the configured ones alone",
        arguments: [
            (
                [:],
                "client_id=client-1&post_logout_redirect_uri=https%3A%2F%2Fapp.example%2Fout&state=s-1"
                    + "&id_token_hint=h.p.s"
            ),
            (
                ["logout_uri": "{post_logout_redirect_uri}", "client_id": "{client_id}", "kind": "full"],
                "client_id=client-1&kind=full&logout_uri=https%3A%2F%2Fapp.example%2Fout"
            ),
            (["id_token_hint": "{id_token_hint}"], "id_token_hint=h.p.s"),
        ] as [([String: String], String)])
    func logout(_ parameters: [String: String], _ query: String) async throws {
        let metadata = FakeCarrier.metadata.with("end_session_endpoint", "\"https://login.example/logout\"")
        let carrier = FakeCarrier { $0.discovery = .json(metadata.text) }
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer) { $0.logoutParameters = parameters }
        for hint in [IDTokenHint(issuer: TokenDraft.issuer, token: Secret("h.p.s")), nil] {
            let url = try await relyingParty.endSessionURL(
                clientID: #require(ClientID("client-1")), hint: hint, returnURL: "https://app.example/out",
                state: Secret("s-1"), correlationID: .random(from: .system))
            let expected = hint == nil ? query.replacing("&id_token_hint=h.p.s", with: "") : query
            let withoutHint = expected == "id_token_hint=h.p.s" && hint == nil
            #expect(url?.text == "https://login.example/logout" + (withoutHint ? "" : "?\(expected)"))
        }
    }

    // MARK: Userinfo

    struct UserInfoRow: Sendable, CustomTestStringConvertible {
        let response: OutboundResponse
        var isAccepted = true
        var testDescription: String { "\(response.status) \(String(decoding: response.body, as: UTF8.self))" }
    }

    @Test(
        "Userinfo that fails, or has no sub, is reported and left out; another sub is refused",
        arguments: [
            UserInfoRow(response: .json("{}", status: 401)), UserInfoRow(response: .json("{}", status: 404)),
            UserInfoRow(response: .json("{}", status: 500)), UserInfoRow(response: .json("<html>")),
            UserInfoRow(response: .json("[]")), UserInfoRow(response: .json(#"{"email":"other@example.org"}"#)),
            UserInfoRow(response: .json(#"{"sub":null,"email":"other@example.org"}"#)),
            UserInfoRow(response: .json(#"{"sub":"other"}"#), isAccepted: false),
            UserInfoRow(response: .json(#"{"sub":["310999-subject"]}"#), isAccepted: false),
            UserInfoRow(response: .json(#"{"sub":""}"#), isAccepted: false),
            UserInfoRow(
                response: OutboundResponse(status: 200, contentType: "application/jwt", body: Array("a.b.c.d.e".utf8)),
                isAccepted: false),
        ])
    func userInfo(row: UserInfoRow) async throws {
        var draft = TokenDraft()
        draft.claims["email"] = "\"jo@example.org\""
        let carrier = FakeCarrier { $0.userInfo = row.response }
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer)
        let (found, subjects) = (try await provider(relyingParty), try SignInSubjects())
        let verified = try await relyingParty.validate(
            idToken: Secret(draft.text), expecting: expectation(), provider: found)
        for (algorithm, hasFallback) in [(nil, true), (nil, false), (.rs256, true)] as [(SigningAlgorithm?, Bool)] {
            var failures: [OIDCError] = []
            do throws(OIDCError) {
                let info = try await relyingParty.userInfo(
                    accessToken: Secret("a"), about: verified, signedWith: algorithm, provider: found,
                    correlationID: subjects.correlationID, orElse: hasFallback ? { failures.append($0) } : nil)
                #expect(row.isAccepted && hasFallback && algorithm == nil)
                #expect(info.attributes[.email] == "jo@example.org")
                #expect(failures.count == 1 && failures.first?.request?.host == "login.carrier.example")
            } catch {
                #expect(!row.isAccepted || !hasFallback || algorithm != nil)
                #expect(failures.isEmpty)
            }
        }
    }
}
