import OpenIDConnect
import Primitives
import TestSupport
import Testing

struct TokenRequestTests {
    private let verifier = String(repeating: "v", count: 50)

    private func exchange(
        _ carrier: FakeCarrier, clientID: String = "client-1", secret: String = "s3cret", verifier: String?
    ) async throws -> Result<TokenResponse, OIDCError> {
        let relyingParty = try carrier.relyingParty()
        let subjects = try SignInSubjects()
        let provider = try await relyingParty.provider(subjects)
        let client = ClientCredentials(
            clientID: try #require(ClientID(clientID)), authentication: .clientSecretBasic(Secret(secret)))
        do throws(OIDCError) {
            return .success(
                try await relyingParty.exchange(
                    code: Secret("code 1&2"), redirectURI: "https://app.example/cb?x=1",
                    codeVerifier: verifier.flatMap(CodeVerifier.init), client: client, provider: provider,
                    correlationID: subjects.correlationID))
        } catch {
            return .failure(error)
        }
    }

    @Test("The request is a form with the code, once, and HTTP Basic; without the client id in the body")
    func request() async throws {
        let carrier = FakeCarrier()
        _ = try await exchange(carrier, verifier: verifier).get()
        let request = try #require(carrier.http.requests(to: FakeCarrier.tokenURL).first)
        #expect(request.method == .post)
        #expect(request.url.text == FakeCarrier.tokenURL)
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == "grant_type=authorization_code&code=code%201%262&redirect_uri=https%3A%2F%2Fapp.example%2Fcb%3Fx%3D1"
                + "&correlation_id=corr-1&code_verifier=\(verifier)")
        let headers = Dictionary(request.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $0 + $1 })
        #expect(headers["Authorization"] == "Basic Y2xpZW50LTE6czNjcmV0")
        #expect(headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(request.timeout == .seconds(10))
        #expect(request.maximumBodyBytes == 131_072)
        #expect(carrier.http.requests(to: FakeCarrier.tokenURL).count == 1)
    }

    @Test("Id and secret are form-urlencoded before they are joined")
    func basicEncoding() async throws {
        let carrier = FakeCarrier()
        _ = try await exchange(carrier, clientID: "a:b c", secret: ":+%&= é", verifier: verifier).get()
        let request = try #require(carrier.http.requests(to: FakeCarrier.tokenURL).first)
        let authorization = request.headers.first { $0.name == "Authorization" }?.value
        // a%3Ab%20c:%3A%2B%25%26%3D%20%C3%A9
        #expect(authorization == "Basic YSUzQWIlMjBjOiUzQSUyQiUyNSUyNiUzRCUyMCVDMyVBOQ==")
    }

    @Test("Without a code verifier the request has none")
    func noVerifier() async throws {
        let carrier = FakeCarrier()
        _ = try await exchange(carrier, verifier: nil).get()
        let body = String(decoding: carrier.http.requests(to: FakeCarrier.tokenURL).first?.body ?? [], as: UTF8.self)
        #expect(!body.contains("code_verifier"))
    }

    @Test(
        "A failed request is not repeated, and the error says whether the code may be spent", arguments: [true, false])
    func transport(_ mayHaveBeenSent: Bool) async throws {
        let carrier = FakeCarrier {
            $0.failures[FakeCarrier.tokenURL] = OutboundError(.timedOut, mayHaveBeenSent: mayHaveBeenSent, reason: "")
        }
        let result = try await exchange(carrier, verifier: verifier)
        guard case .failure(let error) = result else {
            Issue.record("The exchange went well.")
            return
        }
        #expect(error.code == .timedOut)
        #expect(error.codeMayBeSpent == mayHaveBeenSent)
        #expect(carrier.http.requests(to: FakeCarrier.tokenURL).count == 1)
    }

    private func error(_ response: OutboundResponse) async throws -> OIDCError? {
        let carrier = FakeCarrier { $0.token = response }
        let result = try await exchange(carrier, verifier: verifier)
        #expect(carrier.http.requests(to: FakeCarrier.tokenURL).count == 1)
        guard case .failure(let error) = result else { return nil }
        #expect(error.codeMayBeSpent)
        return error
    }

    @Test("A valid response is read")
    func proper() async throws {
        let tokens = try await exchange(FakeCarrier(), verifier: verifier).get()
        #expect(tokens.accessToken == Secret("access-1"))
        #expect(tokens.idToken == Secret("h.p.s"))
        #expect(tokens.refreshToken == Secret("refresh-1"))
        #expect(tokens.expiresIn == 3600)
        #expect(tokens.scope == "openid")
    }

    @Test(
        "Optional members of a response may be absent",
        arguments: [
            ("expires_in", nil), ("expires_in", "\"3600\""), ("expires_in", "null"), ("expires_in", "3600.0"),
            ("expires_in", "3599.7"), ("expires_in", "\"3599.7\""),
            ("expires_in", "0"),
            ("token_type", "\"bearer\""), ("token_type", "\"BEARER\""), ("token_type", "\"bEARER\""),
            ("refresh_token", nil),
            ("scope", nil), ("scope", "\"openid email more\""), ("error", "null"), ("error", "\"\""),
        ] as [(String, String?)])
    func variants(_ member: String, _ json: String?) async throws {
        #expect(try await error(.json(FakeCarrier.tokens.with(member, json).text)) == nil)
    }

    @Test(
        "A response without a valid required member is refused",
        arguments: [
            ("access_token", nil), ("access_token", "null"), ("access_token", "\"\""), ("access_token", "5"),
            ("access_token", "\"a b\""),
            ("access_token", "\"a\\r\\nX: y\""), ("access_token", "\"é\""), ("id_token", nil), ("id_token", "null"),
            ("id_token", "\"\""),
            ("id_token", "{}"), ("token_type", nil), ("token_type", "null"), ("token_type", "\"\""),
            ("token_type", "\"mac\""),
            ("token_type", "\"DPoP\""), ("token_type", "\"N_A\""), ("token_type", "5"), ("token_type", "[\"Bearer\"]"),
            ("expires_in", "\"soon\""), ("expires_in", "-1"), ("expires_in", "\"1.5.2\""), ("expires_in", "-0.5"),
            ("expires_in", "\"\""),
            ("expires_in", "true"),
            ("error", "\"invalid_grant\""), ("error", "\"none\""), ("error", "5"), ("error", "{}"), ("error", "false"),
            ("expires_in", "1e300"), ("expires_in", "\"99999999999999999999\""),
        ] as [(String, String?)])
    func demanded(_ member: String, _ json: String?) async throws {
        #expect(try await error(.json(FakeCarrier.tokens.with(member, json).text))?.code == .unusableResponse)
    }

    @Test(
        "A response with an error and any token is refused, and names the error for the log",
        arguments: ["access_token", "id_token", "refresh_token"])
    func errorAndTokens(_ member: String) async throws {
        let text = #"{"error":"invalid_grant","error_description":"hunter2","\#(member)":"hunter2"}"#
        let found = try await error(.json(text))
        #expect(found?.code == .unusableResponse)
        #expect(found?.carrierError == "invalid_grant")
        #expect(found?.codeMayBeSpent == true)
        #expect(found?.description.contains("both an error and tokens") == true)
        #expect(found?.description.contains("hunter2") == false)
    }

    @Test("A success that is not one strict JSON object is unusable")
    func noJSON() async throws {
        let text = FakeCarrier.tokens.text
        for body in [
            "", "null", "[]", "\"x\"", "[\(text)]", text + "x", text + text, "\u{FEFF}" + text,
            "access_token=a&token_type=bearer&id_token=b",
            "<html></html>", String(text.dropLast()),
            text.replacing("{", with: "{\"access_token\":\"b\",", maxReplacements: 1),
            text.replacing("openid", with: "\\ud800"),
        ] {
            #expect(try await error(.json(body))?.code == .unusableResponse, "\(body)")
        }
        #expect(
            try await error(OutboundResponse(status: 200, body: Array(text.utf8) + [0xFF]))?.code == .unusableResponse)
        #expect(
            try await error(
                OutboundResponse(
                    status: 200, body: Array(text.utf16.flatMap { [UInt8(0), UInt8(truncatingIfNeeded: $0)] })))?.code
                == .unusableResponse)
        #expect(
            try await error(
                .json(FakeCarrier.tokens.with("filler", "\"\(String(repeating: "x", count: 131_072))\"").text))?.code
                == .unusableResponse)
    }

    @Test(
        "JSON is accepted with any content type that does not name another format",
        arguments: [
            (nil, true), ("application/json", true), ("application/json; charset=utf-8", true), ("text/plain", true),
            ("", true),
            ("application/octet-stream", true), ("application/problem+json", true), ("text/html", false),
            ("TEXT/HTML; charset=utf-8", false),
            ("application/xhtml+xml", false), ("application/x-www-form-urlencoded", false), ("application/jwt", false),
        ] as [(String?, Bool)])
    func label(_ contentType: String?, _ accepted: Bool) async throws {
        let response = OutboundResponse(
            status: 200, contentType: contentType, body: Array(FakeCarrier.tokens.text.utf8))
        #expect(try await error(response)?.code == (accepted ? nil : .unusableResponse))
    }

    @Test(
        "A refusal reports the carrier's error code; a refusal of the client is a configuration error",
        arguments: [
            (400, "invalid_grant", OIDCError.Code.carrierRefused), (400, "invalid_request", .carrierRefused),
            (403, "request_denied", .carrierRefused), (401, "access_denied", .carrierRefused),
            (429, "slow_down", .carrierRefused),
            (401, "invalid_client", .clientRefused), (400, "unauthorized_client", .clientRefused),
            (200, "invalid_grant", .carrierRefused),
            (500, "server_error", .unusableResponse), (503, "temporarily_unavailable", .unusableResponse),
            (302, "invalid_grant", .unusableResponse),
        ])
    func refusal(_ status: Int, _ carrierError: String, _ code: OIDCError.Code) async throws {
        let found = try await error(
            .json(#"{"error":"\#(carrierError)","error_description":"verifier"}"#, status: status))
        #expect(found?.code == code)
        #expect(found?.carrierError == carrierError)
        #expect(found?.description.contains("verifier") == false)
    }

    @Test(
        "A refusal is understood under any content type",
        arguments: ["text/html", "text/html; charset=utf-8", "application/x-www-form-urlencoded", nil])
    func labelOfRefusal(_ contentType: String?) async throws {
        let body = Array(#"{"error":"invalid_client"}"#.utf8)
        let found = try await error(OutboundResponse(status: 400, contentType: contentType, body: body))
        #expect(found?.code == .clientRefused)
        #expect(found?.carrierError == "invalid_client")
    }

    @Test(
        "A failure without an error of RFC 6749 is unusable",
        arguments: [201, 204, 301, 302, 303, 307, 308, 400, 401, 404, 500, 503])
    func failures(_ status: Int) async throws {
        for body in ["", "<html>oops</html>", "{}", #"{"error":5}"#, #"{"error":null}"#, FakeCarrier.tokens.text] {
            #expect(try await error(.json(body, status: status))?.code == .unusableResponse)
        }
    }
}
