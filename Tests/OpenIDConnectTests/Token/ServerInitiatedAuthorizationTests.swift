import Crypto
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// The server-initiated authorization request to a carrier.
struct ServerInitiatedAuthorizationTests {
    private static let endpoint = TokenDraft.issuer + "/async"
    private let key = P256.Signing.PrivateKey()

    private func send(
        answer: OutboundResponse = .json(#"{"auth_req_id":"r-1","expires_in":"120"}"#), endpoint: String? = endpoint,
        to carrier: FakeCarrier? = nil
    ) async throws -> Result<BackchannelAuthenticationResponse, OIDCError> {
        let carrier = carrier ?? FakeCarrier()
        carrier.change { answers in
            let metadata = FakeCarrier.metadata.with(
                "server_initiated_authorization_endpoint", endpoint.map { "\"\($0)\"" })
            answers.discovery = .json(metadata.text)
            answers.backchannelAuthentication = answer
        }
        let party = try carrier.relyingParty()
        let subjects = try SignInSubjects()
        let provider = try await party.provider(subjects)
        var request = ServerInitiatedAuthorizationRequest(
            clientID: subjects.clientID, redirectURI: "app:/back", loginHint: Secret("+12025550123"),
            demand: AuthenticationDemand(scopes: ["openid", "email"]), state: Secret("state-1"),
            nonce: Secret("nonce-1"),
            correlationID: subjects.correlationID,
            notificationEndpoint: try #require(EndpointURL("https://login.example/told", policy: .httpsOnly)),
            notificationToken: Secret("token-1"))
        request.demand.acrValues = ["a3", "a1"]
        request.demand.context = "Pay $10"
        request.demand.prompt = [.login]
        request.options = "dark"
        let key = try ClientKey(parsing: Secret(key.pemRepresentation)).named("k-1")
        do throws(OIDCError) {
            return .success(try await party.start(request, signedWith: key, provider: provider))
        } catch {
            return .failure(error)
        }
    }

    @Test(
        "The request object has all parameters and this carrier as audience, lasts five minutes, and is signed"
    )
    func requestObject() async throws {
        let carrier = FakeCarrier()
        let answer = try await send(to: carrier).get()
        #expect(answer.requestID.exposed == "r-1")
        #expect(answer.expiresIn == 120)
        let requests = carrier.http.requests(to: Self.endpoint)
        #expect(requests.count == 1)
        let request = try #require(requests.first)
        #expect(request.method == .post)
        #expect(request.headers.contains { $0.name == "Content-Type" && $0.value == "application/json" })
        #expect(!request.headers.contains { $0.name == "Authorization" })
        let body = try #require(try JSONValue(parsing: request.body).object)
        #expect(Set(body.members.map(\.name)) == ["client_id", "response_type", "scope", "correlation_id", "request"])
        #expect(body["response_type"]?.string == "async_token")

        let parts = try #require(body["request"]?.string).split(separator: ".").map(String.init)
        let header = try JSONValue(parsing: try #require(Base64URL.decode(parts[0])))
        #expect(header.object?["alg"]?.string == "ES256")
        #expect(header.object?["kid"]?.string == "k-1")
        #expect(header.object?["typ"]?.string == "oauth-authz-req+jwt")
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2])))
        #expect(key.publicKey.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
        let payload = try JSONValue(parsing: try #require(Base64URL.decode(parts[1])))
        let claims = try #require(payload.object)
        let texts = [
            "iss": "client-1", "aud": TokenDraft.issuer, "client_id": "client-1", "response_type": "async_token",
            "redirect_uri": "app:/back", "scope": "openid email", "login_hint": "+12025550123", "state": "state-1",
            "nonce": "nonce-1", "acr_values": "a3 a1", "context": "Pay $10", "prompt": "login", "options": "dark",
            "correlation_id": "corr-1", "client_notification_endpoint": "https://login.example/told",
            "notification_uri": "https://login.example/told", "client_notification_token": "token-1",
        ]
        for (name, text) in texts { #expect(claims[name]?.string == text, "\(name)") }
        #expect(claims["iat"]?.integer == TokenDraft.now)
        #expect(claims["exp"]?.integer == TokenDraft.now + 300)
        #expect(Base64URL.decode(claims["jti"]?.string ?? "")?.count == 16)
        #expect(Set(claims.members.map(\.name)) == Set(texts.keys).union(["iat", "exp", "jti"]))
    }

    @Test(
        "The time to approve is the carrier's, at most an hour, and five minutes if it names none",
        arguments: [
            ("60", 60), ("\"60\"", 60), ("3600", 3600), ("86400", 3600), ("\"99999999999\"", 3600), ("null", 300),
            ("6e1", 60), ("1", 1), ("3601", 3600),
        ] as [(String, Int64)])
    func expiry(json: String, seconds: Int64) async throws {
        let answer = try await send(answer: .json(#"{"auth_req_id":"r","expires_in":\#(json)}"#)).get()
        #expect(answer.expiresIn == seconds)
    }

    @Test(
        "A response that is not a JSON object is not accepted",
        arguments: [
            ("{}", 200, OIDCError.Code.unusableResponse), (#"{"auth_req_id":""}"#, 200, .unusableResponse),
            (#"{"auth_req_id":"a b"}"#, 200, .unusableResponse), (#"{"auth_req_id":1}"#, 200, .unusableResponse),
            (#"{"auth_req_id":"r","expires_in":-1}"#, 200, .unusableResponse),
            (#"{"auth_req_id":"r","expires_in":0}"#, 200, .unusableResponse),
            (#"{"auth_req_id":"r","expires_in":"1h"}"#, 200, .unusableResponse),
            (#"{"auth_req_id":"r","expires_in":[]}"#, 200, .unusableResponse),
            (#"{"auth_req_id":"r"}"#, 202, .unusableResponse), (#"{"auth_req_id":"r"}"#, 302, .unusableResponse),
            (#"{"error":"access_denied"}"#, 500, .unusableResponse), ("[]", 200, .unusableResponse),
            (#"{"error":"access_denied"}"#, 400, .carrierRefused),
            (#"{"error":"user_not_found"}"#, 200, .carrierRefused),
            (#"{"error":"invalid_client"}"#, 401, .clientRefused),
            (#"{"auth_req_id":"r","error":"access_denied"}"#, 200, .unusableResponse),
            (#"{"auth_req_id":"r","error":{}}"#, 200, .unusableResponse),
        ])
    func unusable(text: String, status: Int, code: OIDCError.Code) async throws {
        let result = try await send(answer: .json(text, status: status))
        guard case .failure(let error) = result else {
            Issue.record("taken")
            return
        }
        #expect(error.code == code)
    }

    @Test("An empty error counts as omitted", arguments: ["null", "\"\""])
    func emptyError(json: String) async throws {
        let answer = try await send(answer: .json(#"{"auth_req_id":"r","error":\#(json)}"#)).get()
        #expect(answer.requestID.exposed == "r")
    }

    @Test("A carrier without the endpoint gets no request")
    func noEndpoint() async throws {
        let carrier = FakeCarrier()
        guard case .failure(let error) = try await send(endpoint: nil, to: carrier) else {
            Issue.record("sent")
            return
        }
        #expect(error.code == .metadataRefused)
        #expect(carrier.http.requests.allSatisfy { $0.method == .get })
    }
}

/// The checks of an ID token that comes with a notification.
struct NotifiedIDTokenTests {
    private static let claim = "urn:openid:params:jwt:claim:auth_req_id"

    private func failedCheck(
        _ change: (inout TokenDraft) -> Void, nonceMayBeMissing: Bool = true, requestID: String? = "r-1"
    ) throws -> IDTokenCheck? {
        var draft = TokenDraft(key: .ec1)
        change(&draft)
        let token = try SignedToken(Secret(draft.text), maximumBytes: 16384, signedWith: [.es256])
        let keys = try #require(JSONWebKeySet(parsing: Array(TestKey.keySet(.ec1).utf8)))
        var expectation = IDTokenExpectation(clientID: try #require(ClientID("client-1")), nonce: "nonce-1")
        expectation.nonceMayBeMissing = nonceMayBeMissing
        expectation.requestID = requestID.map(Secret.init)
        do throws(OIDCError) {
            _ = try IDTokenValidator(issuer: TokenDraft.issuer).validate(
                token, keys: keys, expecting: expectation, now: Timestamp(secondsSinceEpoch: TokenDraft.now))
            return nil
        } catch {
            return error.check
        }
    }

    @Test("A nonce may be missing only if that is allowed, and otherwise must be the request's")
    func nonce() throws {
        #expect(try failedCheck { $0.claims["nonce"] = "\"nonce-1\"" } == nil)
        #expect(try failedCheck { $0.claims["nonce"] = nil } == nil)
        #expect(try failedCheck({ $0.claims["nonce"] = nil }, nonceMayBeMissing: false) == .nonce)
        for wrong in ["\"nonce-2\"", "\"\"", "null", "7"] {
            #expect(try failedCheck { $0.claims["nonce"] = wrong } == .nonce, "\(wrong)")
        }
    }

    @Test("An auth_req_id in the ID token must be the request's")
    func requestID() throws {
        #expect(try failedCheck { $0.claims[Self.claim] = "\"r-1\"" } == nil)
        #expect(try failedCheck { $0.claims[Self.claim] = nil } == nil)
        for wrong in ["\"r-2\"", "\"\"", "null", "7"] {
            #expect(try failedCheck { $0.claims[Self.claim] = wrong } == .requestID, "\(wrong)")
        }
        #expect(try failedCheck({ $0.claims[Self.claim] = "\"r-2\"" }, requestID: nil) == nil)
    }
}
