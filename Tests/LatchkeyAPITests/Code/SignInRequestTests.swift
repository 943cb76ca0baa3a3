import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Decoding of sign-in requests.
@Suite("The body of a sign-in")
struct SignInRequestTests {
    struct Bad: Sendable, CustomTestStringConvertible {
        let what: String
        let body: SignInBody
        /// The expected `error_description`.
        let says: String

        init(_ what: String, _ body: SignInBody, _ says: String) {
            self.what = what
            self.body = body
            self.says = says
        }

        var testDescription: String { what }
    }

    private static let proper = SignInBody()

    static let refused: [Bad] = [
        Bad("no code", proper.with("code", nil), "code is missing"),
        Bad("empty code", proper.with("code", "\"\""), "code is missing"),
        Bad("null code", proper.with("code", "null"), "code is missing"),
        Bad("code of another type", proper.with("code", "5"), "code must be a string"),
        Bad("long code", proper.with("code", "\"\(String(repeating: "c", count: 16_385))\""), "code is longer"),
        Bad("code beyond ASCII", proper.with("code", "\"é\""), "code must have visible ASCII"),
        Bad("unknown client_id", proper.with("client_id", "\"nobody\""), "client_id is not one of"),
        Bad(
            "unknown clientId", proper.with("client_id", nil).with("clientId", "\"nobody\""), "clientId is not one of"),
        Bad("no mccmnc", proper.with("mccmnc", nil), "mccmnc is missing"),
        Bad("what iOS says in place of mccmnc", proper.with("mccmnc", "65535"), "mccmnc names no network"),
        Bad("no mccmnc, as dashes", proper.with("mccmnc", "\"--\""), "mccmnc names no network"),
        Bad(
            "no mcc and mnc, as dashes", proper.renamed("mccmnc", "x").with("mcc", "\"--\"").with("mnc", "\"--\""),
            "mccmnc names no network"),
        Bad("a network that ends with dashes", proper.with("mccmnc", "\"310-\""), "mccmnc must be 5 or 6 digits"),
        Bad("parts that are none of mccmnc", proper.with("mccmnc", "\"3-10410\""), "mccmnc must be 5 or 6 digits"),
        Bad("letters in mccmnc", proper.with("mccmnc", "\"31a480\""), "mccmnc must be 5 or 6 digits"),
        Bad("four digits", proper.with("mccmnc", "\"3114\""), "mccmnc must be 5 or 6 digits"),
        Bad("a fraction", proper.with("mccmnc", "310410.5"), "mccmnc must be 5 or 6 digits"),
        Bad("digits of another script", proper.with("mccmnc", "\"٣١٠٤١\""), "mccmnc must be 5 or 6 digits"),
        Bad("mcc without mnc", proper.renamed("mccmnc", "x").with("mcc", "\"310\""), "mnc is missing"),
        Bad("mnc without mcc", proper.renamed("mccmnc", "x").with("mnc", "\"410\""), "mcc is missing"),
        Bad(
            "a short mcc", proper.renamed("mccmnc", "x").with("mcc", "\"31\"").with("mnc", "\"410\""),
            "mcc must be 3 digits"),
        Bad(
            "a long mnc", proper.renamed("mccmnc", "x").with("mcc", "\"310\"").with("mnc", "\"4100\""),
            "mnc must be 2 or 3 digits"),
        Bad(
            "mnc as a number", proper.renamed("mccmnc", "x").with("mcc", "310").with("mnc", "10"),
            "mnc must be a string: as a number it may have lost leading zeros"),
        Bad(
            "mnc as a number of three digits", proper.renamed("mccmnc", "x").with("mcc", "\"310\"").with("mnc", "410"),
            "mnc must be a string"),
        Bad("mnc as a number beside mccmnc", proper.with("mcc", "\"310\"").with("mnc", "410"), "mnc must be a string"),
        Bad(
            "mcc as a number without its leading zeros",
            proper.renamed("mccmnc", "x").with("mcc", "1").with("mnc", "\"01\""), "mcc must be 3 digits"),
        Bad(
            "mccmnc other than mcc and mnc", proper.with("mcc", "\"311\"").with("mnc", "\"480\""),
            "mccmnc differs from mcc and mnc"),
        Bad("no redirect_uri", proper.with("redirect_uri", nil), "redirect_uri is missing"),
        Bad(
            "redirect_uri not registered", proper.with("redirect_uri", "\"https://app.example/cb/\""),
            "redirect_uri is not one of"),
        Bad(
            "redirectURI not registered",
            proper.with("redirect_uri", nil).with("redirectURI", "\"https://app.example/cb/\""),
            "redirectURI is not one of"),
        Bad(
            "redirectUri not registered",
            proper.with("redirect_uri", nil).with("redirectUri", "\"https://app.example/cb/\""),
            "redirectUri is not one of"),
        Bad("no code_verifier", proper.with("code_verifier", nil), "code_verifier is missing"),
        Bad("short code_verifier", proper.with("code_verifier", "\"short\""), "code_verifier must be 43 to 128"),
        Bad(
            "code_verifier with a sign", proper.with("code_verifier", "\"\(String(repeating: "x", count: 42))$\""),
            "code_verifier must be 43 to 128"),
        Bad("long nonce", proper.with("nonce", "\"\(String(repeating: "n", count: 513))\""), "nonce is longer"),
        Bad("long state", proper.with("state", "\"\(String(repeating: "s", count: 1025))\""), "state is longer"),
        Bad(
            "long context", proper.with("context", "\"\(String(repeating: "é", count: 281))\""),
            "context is longer than 280 characters"),
        Bad("context with a NUL", proper.with("context", "\"a\\u0000b\""), "context has a NUL character"),
        Bad("correlation_id with a space", proper.with("correlation_id", "\"a b\""), "correlation_id must be"),
        Bad("acr_values of numbers", proper.with("acr_values", "[1]"), "acr_values must be a string"),
        Bad(
            "an alias of another value", proper.with("codeVerifier", "\"\(String(repeating: "w", count: 43))\""),
            "code_verifier and codeVerifier have different values"),
        Bad(
            "a short codeVerifier", proper.with("code_verifier", nil).with("codeVerifier", "\"short\""),
            "codeVerifier must be 43 to 128"),
        Bad(
            "clientId of another type", proper.with("client_id", nil).with("clientId", "5"), "clientId must be a string"
        ),
        Bad(
            "long redirectURI",
            proper.with("redirect_uri", nil).with("redirectURI", "\"\(String(repeating: "r", count: 2049))\""),
            "redirectURI is longer"),
        Bad("acrValues of numbers", proper.with("acrValues", "[1]"), "acrValues must be a string"),
    ]

    @Test("An error names the invalid field", arguments: refused)
    func badField(_ bad: Bad) async throws {
        let app = try TestApp()
        let answer = try await app.signIn(bad.body)
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_request")
        #expect(answer.text("error_type") == "invalidRequest")
        #expect(answer.description.contains(bad.says), "\(answer.description)")
        #expect(app.carrier.http.requests.isEmpty)
    }

    @Test("An error names all problems of a request, with its correlation id")
    func allProblems() async throws {
        let body = SignInBody().with("code", nil).with("mccmnc", "\"1\"").with("code_verifier", "7")
        let answer = try await TestApp().signIn(body)
        for name in ["code is missing", "mccmnc must be", "code_verifier must be"] {
            #expect(answer.description.contains(name))
        }
        #expect(answer.text("correlation_id") == "corr-1")
        #expect(answer.text("request_id") == answer.requestID)
    }

    struct Good: Sendable, CustomTestStringConvertible {
        let what: String
        let body: SignInBody

        init(_ what: String, _ body: SignInBody) {
            self.what = what
            self.body = body
        }

        var testDescription: String { what }
    }

    static let accepted: [Good] = [
        Good("as the contract names the fields", proper),
        Good("codeVerifier", proper.renamed("code_verifier", "codeVerifier")),
        Good("redirectURI", proper.renamed("redirect_uri", "redirectURI")),
        Good("redirectUri", proper.renamed("redirect_uri", "redirectUri")),
        Good("correlationId", proper.renamed("correlation_id", "correlationId")),
        Good("clientId", proper.renamed("client_id", "clientId")),
        Good("acrValues", proper.with("acrValues", "\"a1 a3\"")),
        Good("acr_values as an array", proper.with("acr_values", "[\"a1\",\"a3\"]")),
        Good("an alias beside its name, alike", proper.with("clientId", "\"client-1\"")),
        Good("mccmnc as a number", proper.with("mccmnc", "310410")),
        Good("mccmnc as people write it", proper.with("mccmnc", "\" 310-410\"")),
        Good("mcc and mnc", proper.renamed("mccmnc", "x").with("mcc", "\"310\"").with("mnc", "\"410\"")),
        Good("mcc as a number", proper.renamed("mccmnc", "x").with("mcc", "310").with("mnc", "\"410\"")),
        Good("mccmnc and its parts", proper.with("mcc", "310").with("mnc", "\"410\"")),
        Good("the other redirect URI", proper.with("redirect_uri", "\"com.example.app://cb\"")),
        Good("nulls and unknown fields", proper.with("context", "null").with("sdk", "{\"a\":[1]}")),
        Good("no nonce", proper.with("nonce", nil)),
    ]

    @Test("A valid request signs in", arguments: accepted)
    func acceptsProper(_ good: Good) async throws {
        let app = try TestApp()
        let answer = try await app.signIn(good.body)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(answer.text("token_type") == "bearer")
        #expect(answer.integer("expires") == 3600)
        #expect(answer.json?["new_user"]?.bool == true)
        #expect(answer.text("correlation_id") == "corr-1")
        #expect(answer.headers[.cacheControl] == "no-store")
        let discovery = try #require(app.carrier.http.requests.first)
        #expect(discovery.url.text.contains("mccmnc=310410"))
    }

    private static let form = """
        client_id=client-1&code=CODE-1&mccmnc=310410&redirect_uri=https%3A%2F%2Fapp.example%2Fcb\
        &code_verifier=\(SignInBody.verifier)&nonce=NONCE-of-the-app&context=
        """

    @Test("A form signs in as JSON does")
    func signsInByForm() async throws {
        let answer = try await TestApp().send(
            .post, "/auth/zenkey/sign-in", [.contentType: "application/x-www-form-urlencoded; charset=UTF-8"],
            body: Self.form)
        #expect(answer.status == 200, "\(answer.body)")
    }

    @Test("The published iOS app's request signs in, and its next two calls work")
    func publishedApp() async throws {
        let app = try TestApp()
        app.carrier.script { $0.claims["context"] = "\"Pay 10 dollars\"" }
        let signedIn = try await app.post(
            "/auth/zenkey-signin",
            """
            {"code":"CODE-1","mccmnc":"310410","redirect_uri":"com.example.app://cb",
            "code_verifier":"\(SignInBody.verifier)","nonce":"NONCE-of-the-app","acr_values":"a3",
            "correlation_id":"1B2C","context":"Pay 10 dollars","client_id":"client-1"}
            """)
        let token = try #require(signedIn.text("token"))
        #expect(signedIn.text("refresh_token")?.count == 48)
        let headers: HTTPFields = [.authorization: "Bearer \(token)", .contentType: "application/json"]
        let me = try await app.send(.get, "/users/me", headers)
        #expect(me.status == 200)
        #expect(me.integer("user_id") != nil)
        #expect(me.text("zenkey_sub")?.isEmpty == false)
        #expect(me.json?["email"]?.isNull == true)
        #expect(try await app.send(.delete, "/auth/token", headers).status == 200)
        #expect(try await app.send(.get, "/users/me", headers).status == 401)
    }

    struct Raw: Sendable, CustomTestStringConvertible {
        let contentType: String?
        let body: String
        let status: Int

        var testDescription: String { "\(contentType ?? "no type"): \(body.prefix(20))" }
    }

    static let unreadable: [Raw] = [
        Raw(contentType: nil, body: "{}", status: 415),
        Raw(contentType: "application/xml", body: "<a/>", status: 415),
        Raw(contentType: "text/plain", body: "{}", status: 415),
        Raw(contentType: "application/json; charset=latin1", body: "{}", status: 415),
        Raw(contentType: "application/json;; a; charset=", body: "{}", status: 415),
        Raw(contentType: "application/json; title=\u{E9}", body: "{}", status: 415),
        Raw(
            contentType: "application/json", body: "{\"a\(String(repeating: "\u{301}\u{316}", count: 7000))\":1}",
            status: 400),
        Raw(contentType: "application/json", body: "{\"code\":", status: 400),
        Raw(contentType: "application/json", body: "[]", status: 400),
        Raw(contentType: "application/json", body: "", status: 400),
        Raw(contentType: "application/json", body: "{\"code\":\"a\",\"code\":\"b\"}", status: 400),
        Raw(contentType: "application/json", body: String(repeating: "[", count: 9000), status: 400),
        Raw(contentType: "application/x-www-form-urlencoded", body: form + "&state=a&state=b", status: 400),
        Raw(contentType: "application/x-www-form-urlencoded", body: "code=%zz", status: 400),
        Raw(contentType: "application/x-www-form-urlencoded", body: "code=%ff", status: 400),
    ]

    @Test("A body that is neither JSON nor a form is refused", arguments: unreadable)
    func refusesUnreadable(_ raw: Raw) async throws {
        let headers: HTTPFields = raw.contentType.map { [.contentType: $0] } ?? [:]
        let answer = try await TestApp().send(.post, "/auth/zenkey-signin", headers, body: raw.body)
        #expect(answer.status == raw.status)
        #expect(answer.error == (raw.status == 415 ? "unsupported_media_type" : "invalid_request"))
    }

    @Test("A client with optional PKCE may omit the verifier")
    func optionalPKCE() async throws {
        let app = try TestApp(client: { $0.pkce = .optional })
        #expect(try await app.signIn(SignInBody().with("code_verifier", nil)).status == 200)
    }

    @Test("A client without registered redirect URIs may name any")
    func anyRedirectURI() async throws {
        let app = try TestApp(client: { $0.redirectURIs = [] })
        #expect(try await app.signIn(SignInBody().with("redirect_uri", "\"other://x\"")).status == 200)
    }

    @Test(
        "An unknown provider is not found, and the error names the configured ones",
        arguments: [
            (HTTPRequest.Method.post, "/auth/nobody/sign-in"), (.post, "/auth/nobody/attempts"),
            (.get, "/auth/nobody/start?client_type=web&redirect_uri=https%3A%2F%2Fapp.example%2F"),
            (.get, "/auth/nobody/callback?state=x"),
        ])
    func unknownProvider(method: HTTPRequest.Method, path: String) async throws {
        let headers: HTTPFields = [.contentType: "application/json", .accept: "application/json"]
        let answer = try await TestApp().send(
            method, path, headers, body: path.hasSuffix("sign-in") ? SignInBody().json : "")
        #expect(answer.status == 404)
        #expect(answer.error == "not_found")
        #expect(answer.description.hasSuffix("configured one: \(TestApp.provider), zenkey."), "\(answer.description)")
    }

    @Test(
        "The error of an unknown provider names at most ten, by their names in paths",
        arguments: [
            (count: 9, shown: "p00, p01, p02, p03, p04, p05, p06, p07, p08, zone."),
            (count: 10, shown: "p00, p01, p02, p03, p04, p05, p06, p07, p08, p09, …."),
        ])
    func unknownAmongMany(count: Int, shown: String) throws {
        let names = (0..<count).map { "p0\($0)" } + ["zone"]
        let group = try NumberApp().useCases.providers.find("number").kind
        let providers = names.map { Provider(name: $0, title: "P", kind: group) }
        let error = SignInError.unknownProvider(in: Providers(providers))
        #expect(error.description.hasSuffix("configured one: " + shown))
    }
}
