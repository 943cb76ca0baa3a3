import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// OpenID providers that are not carriers: found by their issuer, without ZenKey's parameters.
struct IssuerDiscoveryTests {
    private func provider(_ relyingParty: RelyingParty) async throws(OIDCError) -> ProviderMetadata {
        guard let clientID = ClientID("client-1") else { throw OIDCError(.clientRefused, reason: "no client id") }
        return try await relyingParty.provider(
            for: nil, clientID: clientID, correlationID: .random(from: .system))
    }

    @Test(
        "Metadata is requested below the issuer, without the client's id",
        arguments: [
            (TokenDraft.issuer, TokenDraft.issuer + "/.well-known/openid-configuration"),
            ("https://login.example", "https://login.example/.well-known/openid-configuration"),
            ("https://login.example/", "https://login.example/.well-known/openid-configuration"),
        ])
    func request(_ issuer: String, _ url: String) async throws {
        let carrier = FakeCarrier { $0.discovery = .json(FakeCarrier.metadata.with("issuer", "\"\(issuer)\"").text) }
        let relyingParty = try carrier.relyingParty(ofIssuer: issuer)
        #expect(try await provider(relyingParty).issuer == issuer)
        _ = try await relyingParty.provider(SignInSubjects(network: "310410", clientID: "client-2"))
        #expect(carrier.http.requests.map(\.url.text) == [url], "and once for all clients, whatever the network")
    }

    @Test(
        "Metadata that names another issuer is refused, however similar",
        arguments: [
            "https://example.org/", TokenDraft.issuer + "/", TokenDraft.issuer.uppercased(),
            TokenDraft.issuer + "?x", "https://login.carrier.example",
        ])
    func issuerMatch(_ other: String) async throws {
        let carrier = FakeCarrier { $0.discovery = .json(FakeCarrier.metadata.with("issuer", "\"\(other)\"").text) }
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer)
        let error = await failure { () throws(OIDCError) in try await provider(relyingParty) }
        #expect(error?.code == .metadataRefused)
        #expect(error?.codeMayBeSpent == false)
        let isURL = EndpointURL(other, policy: .httpsOnly) != nil && !other.hasSuffix("?x")
        #expect(error?.reason.contains("If \(other) is the provider's") == isURL)
    }

    @Test("The issuer's endpoints may be on any host, by https")
    func hosts() async throws {
        let elsewhere = FakeCarrier.metadata.with("token_endpoint", "\"https://oauth2.example.net/token\"")
        let carrier = FakeCarrier { $0.discovery = .json(elsewhere.text) }
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer)
        #expect(try await provider(relyingParty).tokenEndpoint.host == "oauth2.example.net")
        let plain = FakeCarrier {
            $0.discovery = .json(
                FakeCarrier.metadata.with("token_endpoint", "\"http://oauth2.example.net/token\"").text)
        }
        let refused = try plain.relyingParty(ofIssuer: TokenDraft.issuer)
        #expect(await failure { () throws(OIDCError) in try await provider(refused) }?.code == .metadataRefused)
    }

    @Test("An mccmnc in the metadata of a provider that is not a carrier is ignored")
    func network() async throws {
        let carrier = FakeCarrier { $0.discovery = .json(FakeCarrier.metadata.with("mccmnc", "\"x\"").text) }
        #expect(try await provider(carrier.relyingParty(ofIssuer: TokenDraft.issuer)).issuer == TokenDraft.issuer)
    }

    @Test("Discovery by network needs a network")
    func networkMissing() async throws {
        let carrier = FakeCarrier()
        let relyingParty = try carrier.relyingParty()
        #expect(await failure { () throws(OIDCError) in try await provider(relyingParty) }?.code == .unknownNetwork)
        #expect(carrier.http.requests.isEmpty)
    }

    @Test("Neither the token request nor the userinfo request has a correlation id")
    func noCorrelation() async throws {
        let carrier = FakeCarrier { answers in
            answers.token = .json(FakeCarrier.tokens.with("id_token", "\"\(TokenDraft().text)\"").text)
        }
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer)
        let (found, subjects) = (try await provider(relyingParty), try SignInSubjects())
        let tokens = try await relyingParty.exchange(
            code: Secret("code-1"), redirectURI: "https://app.example/cb", codeVerifier: nil,
            client: ClientCredentials(clientID: subjects.clientID, authentication: .clientSecretBasic(Secret("s"))),
            provider: found,
            correlationID: subjects.correlationID)
        let verified = try await relyingParty.validate(
            idToken: #require(tokens.idToken), expecting: expectation(), provider: found)
        _ = try await relyingParty.userInfo(
            accessToken: tokens.accessToken, about: verified, provider: found, correlationID: subjects.correlationID)
        for request in carrier.http.requests {
            #expect(!request.url.text.contains("correlation_id"))
            #expect(!String(decoding: request.body, as: UTF8.self).contains("correlation_id"))
        }
        #expect(carrier.http.requests.count == 4)
    }

    @Test("The attributes of a provider without a userinfo endpoint come from the ID token; a carrier must have one")
    func attributesOfToken() async throws {
        var draft = TokenDraft()
        draft.claims["email"] = "\"jo@example.org\""
        draft.claims["name"] = "\"Jo\""
        let metadata = FakeCarrier.metadata.with("userinfo_endpoint", nil).text
        let carrier = FakeCarrier { $0.discovery = .json(metadata) }
        let subjects = try SignInSubjects()
        for (relyingParty, usesNetworkDiscovery) in [
            (try carrier.relyingParty(ofIssuer: TokenDraft.issuer), false), (try carrier.relyingParty(), true),
        ] {
            let found = try await relyingParty.provider(subjects)
            let verified = try await relyingParty.validate(
                idToken: Secret(draft.text), expecting: expectation(), provider: found)
            do throws(OIDCError) {
                let info = try await relyingParty.userInfo(
                    accessToken: Secret("a"), about: verified, provider: found, correlationID: subjects.correlationID)
                #expect(!usesNetworkDiscovery)
                #expect(info.attributes[.email] == "jo@example.org")
                #expect(info.attributes[.name] == "Jo")
            } catch {
                #expect(usesNetworkDiscovery)
                #expect(error.code == .metadataRefused)
            }
        }
    }

    @Test(
        "Metadata says whether authorization responses name their issuer",
        arguments: [("true", true), ("false", false)])
    func namesIssuerInResponses(_ json: String, _ expected: Bool) async throws {
        let name = "authorization_response_iss_parameter_supported"
        let carrier = FakeCarrier { $0.discovery = .json(FakeCarrier.metadata.with(name, json).text) }
        #expect(
            try await provider(carrier.relyingParty(ofIssuer: TokenDraft.issuer)).namesIssuerInResponses == expected)
    }
}
