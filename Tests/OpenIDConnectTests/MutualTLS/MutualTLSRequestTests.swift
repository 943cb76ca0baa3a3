import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Which requests present the client's certificate, and where they go (RFC 8705).
@Suite("Requests with a client certificate")
struct MutualTLSRequestTests {
    private static let bindsTokens = ("tls_client_certificate_bound_access_tokens", "true")
    private static let aliases = (
        "mtls_endpoint_aliases",
        """
        {"token_endpoint":"\(FakeCarrier.tokenURL)/mtls","userinfo_endpoint":"\(FakeCarrier.userInfoURL)/mtls",\
        "pushed_authorization_request_endpoint":"\(FakeCarrier.pushURL)/mtls"}
        """
    )

    private static func clientTLS() throws -> ClientTLS {
        let moment = Timestamp(secondsSinceEpoch: 0)
        let certificate = TLSClientCertificate(
            chain: Array(TLSTexts.clientCertificate.utf8), privateKey: Secret(TLSTexts.clientKey), subject: "CN=a",
            validity: moment...moment, isSelfIssued: false)
        return ClientTLS(try #require(certificate))
    }

    private struct Stage {
        let carrier: FakeCarrier
        let relyingParty: RelyingParty
        let subjects: SignInSubjects
        let client: ClientCredentials
        let provider: ProviderMetadata

        init(
            _ setting: ExtensionUse, _ members: [(String, String)] = [], authentication: ClientAuthentication,
            clientTLS: ClientTLS? = nil
        ) async throws {
            let methods = #"["client_secret_basic","tls_client_auth","self_signed_tls_client_auth"]"#
            let document = members.reduce(
                FakeCarrier.metadata.with("pushed_authorization_request_endpoint", "\"\(FakeCarrier.pushURL)\"")
                    .with("token_endpoint_auth_methods_supported", methods)
            ) { $0.with($1.0, $1.1) }
            carrier = FakeCarrier { $0.discovery = .json(document.text) }
            relyingParty = try carrier.relyingParty {
                $0.extensions.mutualTLS = setting
                $0.extensions.pushedAuthorizationRequests = .always
            }
            subjects = try SignInSubjects()
            client = ClientCredentials(
                clientID: subjects.clientID, authentication: authentication, clientTLS: clientTLS)
            provider = try await relyingParty.provider(subjects)
        }

        func exchange() async throws(OIDCError) -> TokenResponse {
            try await relyingParty.exchange(
                code: Secret("code-1"), redirectURI: "app:/cb", codeVerifier: nil, client: client, provider: provider,
                correlationID: subjects.correlationID)
        }

        func push() async throws(OIDCError) -> AuthorizationDestination {
            try await relyingParty.destination(
                of: AuthorizationRequest(
                    clientID: subjects.clientID, redirectURI: "https://rp.example/cb",
                    demand: AuthenticationDemand(scopes: ["openid"]),
                    state: Secret("state-1"), nonce: Secret("nonce-1"), codeChallenge: "challenge-1"),
                client: client, provider: provider, correlationID: subjects.correlationID)
        }

        func resource() async throws {
            let url = try #require(EndpointURL(FakeCarrier.userInfoURL, policy: .httpsOnly))
            _ = try await relyingParty.resource(
                url, accessToken: Secret("access-1"), client: client, provider: provider)
        }
    }

    @Test(
        "A response to a request with a certificate or a proof has a token type",
        arguments: [(false, false), (true, false), (false, true)])
    func tokenType(hasCertificate: Bool, hasProof: Bool) async throws {
        let carrier = FakeCarrier {
            $0.discovery = .json(FakeCarrier.metadata.with(Self.bindsTokens.0, Self.bindsTokens.1).text)
            $0.token = .json(FakeCarrier.tokens.with("token_type", nil).text)
        }
        let relyingParty = try carrier.relyingParty(ofIssuer: TokenDraft.issuer)
        let subjects = try SignInSubjects()
        let client = ClientCredentials(
            clientID: subjects.clientID, authentication: .clientSecretBasic(Secret("s")),
            clientTLS: hasCertificate ? try Self.clientTLS() : nil)
        let error = await failure { () async throws(OIDCError) in
            try await relyingParty.exchange(
                code: Secret("code-1"), redirectURI: "app:/cb", codeVerifier: nil, client: client,
                boundTo: hasProof ? DPoPKey() : nil, provider: try await relyingParty.provider(subjects),
                correlationID: subjects.correlationID)
        }
        #expect(error?.code == (hasCertificate || hasProof ? .unusableResponse : nil))
    }

    @Test(
        "The certificate is presented as the setting and the metadata say",
        arguments: [
            (ExtensionUse.auto, false, [(String, String)](), false), (.auto, false, [bindsTokens], true),
            (.auto, true, [], true), (.always, false, [bindsTokens], true), (.never, false, [bindsTokens], false),
        ])
    func presents(
        setting: ExtensionUse, authenticates: Bool, members: [(String, String)], isPresented: Bool
    ) async throws {
        let clientTLS = try Self.clientTLS()
        let stage = try await Stage(
            setting, members + [Self.aliases],
            authentication: authenticates ? .tlsClientAuth(clientTLS) : .clientSecretBasic(Secret("s")),
            clientTLS: clientTLS)
        _ = try await stage.push()
        _ = try await stage.exchange()
        try await stage.resource()
        let suffix = isPresented ? "/mtls" : ""
        for (url, step) in [
            (FakeCarrier.pushURL + suffix, OutboundRequest.Destination.Step.pushedAuthorization),
            (FakeCarrier.tokenURL + suffix, .token), (FakeCarrier.userInfoURL, .resource),
        ] {
            let sent = stage.carrier.http.requests(to: url)
            #expect(sent.map { $0.destination?.step } == [step] && sent.map(\.url.text) == [url])
            #expect(sent.map(\.clientTLS) == [isPresented ? clientTLS : nil])
        }
        #expect(stage.carrier.http.requests(to: FakeCarrier.discoveryURL).allSatisfy { $0.clientTLS == nil })
    }

    @Test("A client that authenticates by its certificate names itself and sends no credential")
    func authentication() async throws {
        for authentication in [
            ClientAuthentication.tlsClientAuth(try Self.clientTLS()),
            .selfSignedTLSClientAuth(try Self.clientTLS()),
        ] {
            let stage = try await Stage(.auto, authentication: authentication)
            _ = try await stage.exchange()
            let request = try #require(stage.carrier.http.requests(to: FakeCarrier.tokenURL).last)
            let form = String(decoding: request.body, as: UTF8.self)
            #expect(form.contains("client_id=client-1"))
            #expect(!form.contains("client_secret") && !form.contains("client_assertion"))
            #expect(!request.headers.contains { $0.name == "Authorization" })
            #expect(request.clientTLS != nil)
        }
    }

    @Test(
        "What cannot be bound as configured, and an alias that is not acceptable, is refused before a request",
        arguments: [
            (ExtensionUse.always, [(String, String)](), true, "tls_client_certificate_bound_access_tokens"),
            (.always, [bindsTokens], false, "no certificate"),
            (
                .always, [bindsTokens, ("mtls_endpoint_aliases", #"{"token_endpoint":"https://evil.example/t"}"#)],
                true,
                "mtls_endpoint_aliases.token_endpoint"
            ),
            (
                .auto, [bindsTokens, ("mtls_endpoint_aliases", #"{"token_endpoint":7}"#)], true,
                "mtls_endpoint_aliases.token_endpoint"
            ),
            (.auto, [bindsTokens, ("mtls_endpoint_aliases", "[]")], true, "mtls_endpoint_aliases.token_endpoint"),
        ])
    func refused(
        setting: ExtensionUse, members: [(String, String)], hasCertificate: Bool, says: String
    ) async throws {
        let stage = try await Stage(
            setting, members, authentication: .clientSecretBasic(Secret("s")),
            clientTLS: hasCertificate ? try Self.clientTLS() : nil)
        let error = await failure { () throws(OIDCError) in try await stage.exchange() }
        #expect(error?.reason.contains(says) == true, "\(error?.reason ?? "succeeded")")
        #expect(error?.codeMayBeSpent == false)
        #expect(stage.carrier.http.requests(to: FakeCarrier.tokenURL).isEmpty)
    }

    @Test("A bad alias does not concern a client without a certificate")
    func others() async throws {
        let stage = try await Stage(
            .auto, [Self.bindsTokens, ("mtls_endpoint_aliases", "7")], authentication: .clientSecretBasic(Secret("s")))
        _ = try await stage.exchange()
        #expect(stage.carrier.http.requests(to: FakeCarrier.tokenURL).map(\.clientTLS) == [nil])
    }
}
