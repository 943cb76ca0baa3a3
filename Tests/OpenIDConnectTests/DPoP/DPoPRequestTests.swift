import Crypto
import OpenIDConnect
import Primitives
import Synchronization
import TestSupport
import Testing

/// Requests with a proof, the token types of their responses, and demands for a nonce (RFC 9449 sections 5 to 10).
@Suite("Requests with DPoP proofs")
struct DPoPRequestTests {
    private static let es256 = ("dpop_signing_alg_values_supported", "[\"PS256\",\"ES256\"]")
    private static let demanded = ("dpop_bound_access_tokens", "true")
    private static let bound = FakeCarrier.tokens.with("token_type", "\"DPoP\"").text
    /// A response to a refresh, without an ID token.
    private static let refreshed = FakeCarrier.tokens.with("token_type", "\"DPoP\"").with("id_token", nil).text
    private static let resourceURL = TokenDraft.issuer + "/resource"

    private static func metadata(_ members: [(String, String)]) -> JSONDraft {
        let methods = "[\"client_secret_basic\",\"private_key_jwt\"]"
        return members.reduce(
            FakeCarrier.metadata.with("pushed_authorization_request_endpoint", "\"\(FakeCarrier.pushURL)\"").with(
                "token_endpoint_auth_methods_supported", methods)
        ) { $0.with($1.0, $1.1) }
    }

    private final class Stage: Sendable {
        /// The responses of each URL, in their order; the last one stays.
        private let script = Mutex<[String: [OutboundResponse]]>([:])
        /// How long each response takes.
        static let delay = Duration.seconds(2)
        private let uptime = ManualUptime()
        let carrier: FakeCarrier
        let relyingParty: RelyingParty
        let subjects: SignInSubjects
        let client: ClientCredentials

        init(
            _ setting: ExtensionUse = .always, metadata: [(String, String)] = [], prefersBoundTokens: Bool = false,
            authentication: ClientAuthentication = .clientSecretBasic(Secret("s"))
        ) throws {
            let document = DPoPRequestTests.metadata(metadata).text
            carrier = FakeCarrier { $0.discovery = .json(document, cacheControl: "max-age=86400") }
            relyingParty = try carrier.relyingParty(uptime: uptime.uptime) {
                $0.extensions.dpop = setting
                $0.prefersBoundTokens = prefersBoundTokens
                $0.extensions.pushedAuthorizationRequests = .always
            }
            subjects = try SignInSubjects()
            client = ClientCredentials(clientID: subjects.clientID, authentication: authentication)
            let discovery = FakeCarrier.discoveryURL
            let configuration = OutboundResponse.json(document, cacheControl: "max-age=86400")
            carrier.http.answer { [self] request throws(OutboundError) in
                let url = request.url.text
                uptime.advance(by: Self.delay)
                if url.hasPrefix(discovery) || url.hasSuffix("openid-configuration") { return configuration }
                return script.withLock { script in
                    guard let key = script.keys.first(where: url.hasPrefix), let next = script[key]?.first else {
                        return OutboundResponse(status: 404)
                    }
                    if let rest = script[key]?.dropFirst(), !rest.isEmpty { script[key] = Array(rest) }
                    return next
                }
            }
            respond(FakeCarrier.tokenURL, .json(DPoPRequestTests.bound))
        }

        func respond(_ url: String, _ responses: OutboundResponse...) { script.withLock { $0[url] = responses } }

        func exchange(boundTo key: DPoPKey? = nil) async throws -> Result<TokenResponse, OIDCError> {
            let provider = try await relyingParty.provider(subjects)
            do throws(OIDCError) {
                return .success(
                    try await relyingParty.exchange(
                        code: Secret("code-1"), redirectURI: "app:/cb", codeVerifier: nil, client: client,
                        boundTo: key, provider: provider, correlationID: subjects.correlationID))
            } catch {
                return .failure(error)
            }
        }

        func refresh(boundTo key: DPoPKey?) async throws -> TokenResponse {
            try await relyingParty.refresh(
                Secret("refresh-0"), client: client,
                of: OriginalIDToken(issuer: TokenDraft.issuer, subject: "s", claims: nil), boundTo: key,
                provider: try await relyingParty.provider(subjects), correlationID: subjects.correlationID
            ).tokens
        }

        func push(_ key: DPoPKey?) async throws -> AuthorizationDestination {
            var request = AuthorizationRequest(
                clientID: subjects.clientID, redirectURI: "https://rp.example/cb",
                demand: AuthenticationDemand(scopes: ["openid"]),
                state: Secret("state-1"), nonce: Secret("nonce-1"), codeChallenge: "challenge-1")
            request.dpopKey = key
            return try await relyingParty.destination(
                of: request, client: client, provider: try await relyingParty.provider(subjects),
                correlationID: subjects.correlationID)
        }

        func resource(boundTo key: DPoPKey?) async throws -> Result<RelyingParty.ResourceResponse, OIDCError> {
            let url = try #require(EndpointURL(resourceURL + "?user=me", policy: .httpsOnly))
            let provider = try await relyingParty.provider(subjects)
            do throws(OIDCError) {
                return .success(
                    try await relyingParty.resource(
                        url, accessToken: Secret("access-1"), boundTo: key, provider: provider))
            } catch {
                return .failure(error)
            }
        }

        func sent(_ url: String) throws -> [(request: OutboundRequest, proof: SentProof?)] {
            try carrier.http.requests(to: url).map { ($0, try SentProof(of: $0)) }
        }

        func proofs(_ url: String) throws -> [SentProof] { try sent(url).compactMap(\.proof) }
    }

    private static func challenge(_ nonce: String?, status: Int = 400) -> OutboundResponse {
        var response = OutboundResponse.json(#"{"error":"use_dpop_nonce"}"#, status: status)
        response.dpopNonce = nonce
        return response
    }

    private static func resourceChallenge(_ nonce: String?) -> OutboundResponse {
        OutboundResponse(
            status: 401, dpopNonce: nonce, wwwAuthenticate: #"DPoP error="use_dpop_nonce", error_description="x""#)
    }

    private static func giving(_ nonce: String, _ response: OutboundResponse) -> OutboundResponse {
        var response = response
        response.dpopNonce = nonce
        return response
    }

    // MARK: When there is a proof

    @Test(
        "A token request has a proof if the setting and the metadata say so",
        arguments: [
            (.auto, [], true, false), (.auto, [es256], false, false), (.auto, [es256], true, true),
            (.auto, [("dpop_signing_alg_values_supported", "[\"RS256\"]")], true, false),
            (.auto, [("dpop_signing_alg_values_supported", "7")], true, false), (.auto, [demanded], false, true),
            (.auto, [("dpop_bound_access_tokens", "\"true\"")], false, false), (.always, [], false, true),
            (.never, [es256, demanded], true, false),
        ] as [(ExtensionUse, [(String, String)], Bool, Bool)])
    func setting(_ setting: ExtensionUse, _ metadata: [(String, String)], _ prefers: Bool, _ hasProof: Bool)
        async throws
    {
        let stage = try Stage(setting, metadata: metadata, prefersBoundTokens: prefers)
        stage.respond(
            FakeCarrier.tokenURL, .json(hasProof ? Self.bound : FakeCarrier.tokens.text))
        let tokens = try await stage.exchange().get()
        #expect(try stage.sent(FakeCarrier.tokenURL).map { $0.proof != nil } == [hasProof])
        #expect((tokens.accessTokenKey != nil) == hasProof)
        let provider = try await stage.relyingParty.provider(stage.subjects)
        #expect((stage.relyingParty.newDPoPKey(at: provider) != nil) == hasProof)
    }

    @Test("A proof is of its request, and of a new key for each authorization")
    func proof() async throws {
        let stage = try Stage()
        let first = try await stage.exchange().get()
        let second = try await stage.exchange().get()
        let proofs = try stage.proofs(FakeCarrier.tokenURL)
        #expect(proofs.count == 2)
        for (proof, tokens) in zip(proofs, [first, second]) {
            #expect(proof.isSigned)
            #expect(proof.claims["htm"]?.string == "POST")
            #expect(proof.claims["htu"]?.string == FakeCarrier.tokenURL)
            #expect(proof.claims["iat"]?.integer == TokenDraft.now)
            #expect(proof.claims["ath"] == nil && proof.claims["nonce"] == nil)
            #expect(proof.thumbprint == tokens.accessTokenKey?.thumbprint)
            #expect(tokens.proofKey == tokens.accessTokenKey)
        }
        #expect(first.accessTokenKey != second.accessTokenKey)
        #expect(proofs[0].claims["jti"]?.string != proofs[1].claims["jti"]?.string)
        #expect((proofs[0].claims["jti"]?.string?.utf8.count ?? 0) >= 16)
    }

    @Test("A key that the authorization request named is used, also if the setting has changed to never")
    func namedKey() async throws {
        let key = DPoPKey()
        let stage = try Stage(.never)
        stage.respond(FakeCarrier.tokenURL, .json(Self.bound), .json(Self.refreshed))
        #expect(try await stage.exchange(boundTo: key).get().accessTokenKey == key)
        #expect(try await stage.refresh(boundTo: key).accessTokenKey == key)
        #expect(try stage.proofs(FakeCarrier.tokenURL).map(\.thumbprint) == [key.thumbprint, key.thumbprint])
    }

    @Test(
        "A token type that does not fit is refused, in any case of letters",
        arguments: [
            (.always, [], "\"DPoP\"", true), (.always, [], "\"dpop\"", true), (.always, [], "\"Bearer\"", nil),
            (.always, [], nil, nil), (.always, [], "\"N_A\"", nil), (.auto, [demanded], "\"Bearer\"", nil),
            (.auto, [es256], "\"DPOP\"", true), (.auto, [es256], "\"bearer\"", false), (.auto, [es256], nil, nil),
            (.auto, [es256], "\"mac\"", nil), (.never, [es256], "\"DPoP\"", nil), (.never, [], "\"Bearer\"", false),
        ] as [(ExtensionUse, [(String, String)], String?, Bool?)])
    func type(_ setting: ExtensionUse, _ metadata: [(String, String)], _ type: String?, _ isBound: Bool?) async throws {
        let stage = try Stage(setting, metadata: metadata, prefersBoundTokens: true)
        stage.respond(FakeCarrier.tokenURL, .json(FakeCarrier.tokens.with("token_type", type).text))
        switch try await stage.exchange() {
        case .success(let tokens):
            #expect((tokens.accessTokenKey != nil) == isBound)
            #expect((tokens.proofKey != nil) == (setting != .never), "the refresh token may be bound nevertheless")
        case .failure(let error):
            #expect(isBound == nil)
            #expect(error.code == .unusableResponse && error.codeMayBeSpent)
            #expect(error.reason.contains("token_type other than"))
        }
    }

    // MARK: The authorization request

    @Test("The authorization request names the key, pushed with a proof or by the browser")
    func authorization() async throws {
        let key = DPoPKey()
        let stage = try Stage()
        stage.respond(FakeCarrier.pushURL, .json(#"{"request_uri":"urn:r","expires_in":60}"#, status: 201))
        _ = try await stage.push(key)
        let sent = try #require(try stage.sent(FakeCarrier.pushURL).first)
        #expect(SentForm(sent.request).form["dpop_jkt"] == [key.thumbprint])
        #expect(sent.proof?.thumbprint == key.thumbprint)
        #expect(sent.proof?.claims["htu"]?.string == FakeCarrier.pushURL)
        var request = AuthorizationRequest(
            clientID: stage.subjects.clientID, redirectURI: "https://rp.example/cb",
            demand: AuthenticationDemand(),
            state: Secret("state-1"), nonce: nil, codeChallenge: "c")
        let url = try #require(EndpointURL("https://op.example/a", policy: .httpsOnly))
        #expect(!request.url(at: url).text.contains("dpop"))
        request.dpopKey = key
        #expect(request.url(at: url).text.contains("&dpop_jkt=" + key.thumbprint))
    }

    @Test("A request without a key has no proof")
    func plain() async throws {
        let stage = try Stage()
        stage.respond(FakeCarrier.pushURL, .json(#"{"request_uri":"urn:r","expires_in":60}"#, status: 201))
        stage.respond(Self.resourceURL, .json("{}"))
        _ = try await stage.push(nil)
        _ = try await stage.resource(boundTo: nil).get()
        for url in [FakeCarrier.pushURL, Self.resourceURL] {
            let sent = try #require(try stage.sent(url).first)
            #expect(sent.proof == nil)
            #expect(SentForm(sent.request).headers["Authorization"] != "DPoP access-1")
        }
    }

    // MARK: Resources

    @Test("A resource gets the bound token with the scheme DPoP, and a proof with its hash")
    func resource() async throws {
        let key = DPoPKey()
        let stage = try Stage()
        stage.respond(Self.resourceURL, .json("{}"))
        _ = try await stage.resource(boundTo: key).get()
        let sent = try #require(try stage.sent(Self.resourceURL).first)
        #expect(SentForm(sent.request).headers["Authorization"] == "DPoP access-1")
        #expect(sent.request.timeout == .seconds(5))
        #expect(sent.request.maximumBodyBytes == 65_536)
        let proof = try #require(sent.proof)
        #expect(proof.claims["htm"]?.string == "GET")
        #expect(proof.claims["htu"]?.string == Self.resourceURL)
        let hash = Base64URL.encode(Array(SHA256.hash(data: Array("access-1".utf8))))
        #expect(proof.claims["ath"]?.string == hash)
        #expect(proof.thumbprint == key.thumbprint)
    }

    // MARK: Nonces

    @Test("A demanded nonce is sent once more, in a new proof and with a new client assertion", arguments: [400, 401])
    func challenged(status: Int) async throws {
        let key = try ClientKey(parsing: Secret(P256.Signing.PrivateKey().pemRepresentation))
        let stage = try Stage(authentication: .privateKeyJWT(key))
        stage.respond(FakeCarrier.tokenURL, Self.challenge("n-1", status: status), .json(Self.bound))
        let tokens = try await stage.exchange().get()
        let sent = try stage.sent(FakeCarrier.tokenURL)
        let proofs = sent.compactMap(\.proof)
        #expect(proofs.map { $0.claims["nonce"]?.string } == [nil, "n-1"])
        #expect(proofs.map(\.thumbprint) == Array(repeating: tokens.accessTokenKey?.thumbprint, count: 2))
        #expect(proofs[0].claims["jti"]?.string != proofs[1].claims["jti"]?.string)
        let assertions = try sent.map { try SentForm($0.request).assertion().claims["jti"]?.string }
        #expect(assertions[0] != assertions[1])
        #expect(sent[1].request.timeout == sent[0].request.timeout - Stage.delay, "both have the time of one")
    }

    @Test("A nonce is kept for the server, and replaced by that of a later success")
    func kept() async throws {
        let stage = try Stage()
        stage.respond(
            FakeCarrier.tokenURL, Self.challenge("n-1"), Self.giving("n-2", .json(Self.bound)), .json(Self.bound),
            Self.giving("n-3", .json(#"{"error":"invalid_grant"}"#, status: 400)), .json(Self.refreshed))
        stage.respond(FakeCarrier.pushURL, .json(#"{"request_uri":"urn:r","expires_in":60}"#, status: 201))
        stage.respond(Self.resourceURL, Self.giving("r-1", .json("{}")), .json("{}"))
        let key = DPoPKey()
        for _ in 0..<2 { _ = try await stage.exchange().get() }
        _ = try await stage.exchange()
        _ = try await stage.refresh(boundTo: key)
        #expect(
            try stage.proofs(FakeCarrier.tokenURL).map { $0.claims["nonce"]?.string }
                == [nil, "n-1", "n-2", "n-2", "n-2"])
        _ = try await stage.push(key)
        #expect(try stage.proofs(FakeCarrier.pushURL).map { $0.claims["nonce"]?.string } == ["n-2"])
        for _ in 0..<2 { _ = try await stage.resource(boundTo: key).get() }
        #expect(try stage.proofs(Self.resourceURL).map { $0.claims["nonce"]?.string } == [nil, "r-1"])
    }

    @Test("A server that demands a nonce again and again, or gives none that is valid, is refused")
    func refused() async throws {
        let long = String(repeating: "n", count: 513)
        for (nonce, requests) in [("n-1", 2), (nil, 1), (long, 1), ("a, b", 1), ("", 1)] as [(String?, Int)] {
            let stage = try Stage()
            stage.respond(FakeCarrier.tokenURL, Self.challenge(nonce))
            stage.respond(FakeCarrier.pushURL, Self.challenge(nonce))
            stage.respond(Self.resourceURL, Self.resourceChallenge(nonce))
            guard case .failure(let error) = try await stage.exchange() else {
                Issue.record("the exchange succeeded")
                continue
            }
            #expect(error.code == .unusableResponse && error.codeMayBeSpent)
            #expect(error.carrierError == "use_dpop_nonce" && error.reason.contains("DPoP nonce"))
            #expect(error.request?.status == 400)
            #expect(try stage.sent(FakeCarrier.tokenURL).count == requests)
            let key = DPoPKey()
            let pushed = await #expect(throws: OIDCError.self) { try await stage.push(key) }
            #expect(pushed?.codeMayBeSpent == false)
            #expect(try stage.sent(FakeCarrier.pushURL).count == requests)
            guard case .failure(let resource) = try await stage.resource(boundTo: key) else {
                Issue.record("the resource was fetched")
                continue
            }
            #expect(resource.code == .unusableResponse, "the token is not refused, so no refresh follows")
            #expect(try stage.sent(Self.resourceURL).count == requests)
        }
    }

    @Test("A resource's demand for a nonce is met once, and a refused token is not taken for one")
    func resourceChallenged() async throws {
        let stage = try Stage()
        let key = DPoPKey()
        stage.respond(Self.resourceURL, Self.resourceChallenge("r-1"), .json("{}"))
        guard case .json = try await stage.resource(boundTo: key).get() else {
            Issue.record("no resource")
            return
        }
        #expect(try stage.proofs(Self.resourceURL).map { $0.claims["nonce"]?.string } == [nil, "r-1"])
        stage.respond(
            Self.resourceURL,
            OutboundResponse(status: 401, dpopNonce: "r-2", wwwAuthenticate: #"DPoP error="invalid_token""#))
        guard case .unauthorized = try await stage.resource(boundTo: key).get() else {
            Issue.record("the token counts as good")
            return
        }
        #expect(try stage.sent(Self.resourceURL).count == 3)
    }

    @Test("Without a proof a demand for a nonce is an error as any other, and the code is sent once")
    func unasked() async throws {
        let stage = try Stage(.never)
        stage.respond(FakeCarrier.tokenURL, Self.challenge("n-1"))
        guard case .failure(let error) = try await stage.exchange() else {
            Issue.record("the exchange succeeded")
            return
        }
        #expect(error.carrierError == "use_dpop_nonce")
        #expect(try stage.sent(FakeCarrier.tokenURL).count == 1)
    }
}
