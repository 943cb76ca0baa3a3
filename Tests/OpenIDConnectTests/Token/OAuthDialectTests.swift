import Primitives
import TestSupport
import Testing

@testable import OpenIDConnect

/// Providers without ID tokens whose requests and responses differ from RFC 6749.
struct OAuthDialectTests {
    private let carrier = FakeCarrier { $0.token = .json(#"{"access_token":"access-1"}"#) }

    private func relyingParty(
        _ dialect: OAuthDialect = .standard, tokenURL: String = FakeCarrier.tokenURL, emails: String? = nil
    ) throws -> RelyingParty {
        func url(_ text: String) throws -> EndpointURL { try #require(EndpointURL(text, policy: .httpsOnly)) }
        var user = UserEndpoint(
            url: try url(FakeCarrier.userInfoURL + "?fields=id,name"), subject: try #require(UserEndpoint.Member("id")))
        user.emails = try emails.map(url)
        var configuration = RelyingParty.Configuration(
            issuer: try url("https://provider.example"),
            authorizationEndpoint: try url(TokenDraft.issuer + "/authorize?theme=dark"),
            tokenEndpoint: try url(tokenURL),
            userEndpoint: user)
        configuration.dialect = dialect
        return RelyingParty(configuration: configuration, http: carrier.http, clock: carrier.clock.wallClock)
    }

    private func client() throws -> ClientCredentials {
        ClientCredentials(
            clientID: try #require(ClientID("client-1")), authentication: .clientSecretPost(Secret("s+1")))
    }

    private func authorizationURL(_ dialect: OAuthDialect) async throws -> String {
        let relyingParty = try relyingParty(dialect)
        let subjects = try SignInSubjects()
        var demand = AuthenticationDemand()
        demand.scopes = ["user.info", "video.list"]
        let request = AuthorizationRequest(
            clientID: subjects.clientID, redirectURI: "https://login.example/cb", demand: demand,
            state: Secret("state-1"), nonce: nil, codeChallenge: "challenge-1")
        return try await relyingParty.destination(
            of: request, client: try client(), provider: try await relyingParty.provider(subjects),
            correlationID: subjects.correlationID
        ).url.text
    }

    private func exchange(_ relyingParty: RelyingParty) async throws -> Result<TokenResponse, OIDCError> {
        let subjects = try SignInSubjects()
        let (provider, client) = (try await relyingParty.provider(subjects), try client())
        do throws(OIDCError) {
            return .success(
                try await relyingParty.exchange(
                    code: Secret("code-1"), redirectURI: "https://login.example/cb", codeVerifier: nil,
                    client: client, provider: provider, correlationID: subjects.correlationID))
        } catch {
            return .failure(error)
        }
    }

    @Test("The authorization request names the client and separates the scopes as the provider demands")
    func authorization() async throws {
        let rows: [(dialect: OAuthDialect, client: String, scope: String)] = [
            (.standard, "client_id", "user.info%20video.list"), (.tiktok, "client_key", "user.info%2Cvideo.list"),
            (.wechat, "appid", "user.info%2Cvideo.list"),
        ]
        for row in rows {
            let url = try await authorizationURL(row.dialect)
            // A query that is configured stays.
            #expect(url.hasPrefix(TokenDraft.issuer + "/authorize?theme=dark&\(row.client)=client-1&"), "\(url)")
            #expect(url.contains("&scope=\(row.scope)"), "\(url)")
            #expect(row.client == "client_id" || !url.contains("client_id="), "\(url)")
            #expect(url.hasSuffix("#wechat_redirect") == (row.client == "appid"), "\(url)")
        }
    }

    @Test("TikTok's token request is a form with client_key")
    func tiktok() async throws {
        _ = try await exchange(try relyingParty(.tiktok)).get()
        let request = try #require(carrier.http.requests.first)
        #expect(request.method == .post)
        let form = String(decoding: request.body, as: UTF8.self)
        #expect(form.contains("&client_key=client-1&client_secret=s%2B1"))
        #expect(!form.contains("client_id"))
    }

    @Test("WeChat's requests are GET with everything in the query, and openid comes from the token response")
    func wechat() async throws {
        carrier.change {
            $0.token = .json(#"{"access_token":"access-1","openid":"o-1","scope":"snsapi_login"}"#)
            $0.userInfo = .json(#"{"id":"u-1"}"#)
        }
        let relyingParty = try relyingParty(.wechat)
        let tokens = try await exchange(relyingParty).get()
        #expect(tokens.userMember == "o-1")
        let provider = try await relyingParty.provider(try SignInSubjects())
        _ = try await relyingParty.user(
            accessToken: tokens.accessToken, userMember: tokens.userMember, provider: provider)
        let requests = carrier.http.requests
        #expect(requests.map(\.method) == [.get, .get])
        #expect(requests.allSatisfy { $0.body.isEmpty && !$0.headers.contains { $0.name == "Authorization" } })
        #expect(!requests[0].headers.contains { $0.name == "Content-Type" })
        #expect(
            requests[0].url.text == FakeCarrier.tokenURL
                + "?appid=client-1&redirect_uri=https%3A%2F%2Flogin.example%2Fcb&grant_type=authorization_code"
                + "&code=code-1&secret=s%2B1")
        #expect(
            requests[1].url.text
                == FakeCarrier.userInfoURL + "?fields=id,name&openid=o-1&access_token=access-1")
    }

    @Test(
        "WeChat's errors have status 200",
        arguments: [
            (40029, OIDCError.Code.carrierRefused, "invalid_grant"), (40163, .carrierRefused, "invalid_grant"),
            (40013, .clientRefused, "invalid_client"), (40125, .clientRefused, "invalid_client"),
            (-1, .carrierRefused, "errcode_-1"), (45009, .carrierRefused, "errcode_45009"),
        ])
    func wechatErrors(_ code: Int, _ expected: OIDCError.Code, _ name: String) async throws {
        carrier.change { $0.token = .json(#"{"errcode":\#(code),"errmsg":"no"}"#) }
        guard case .failure(let error) = try await exchange(try relyingParty(.wechat)) else {
            Issue.record("accepted")
            return
        }
        #expect(error.code == expected)
        #expect(error.carrierError == name)
    }

    @Test("A refresh token goes to WeChat's endpoint for it, and a code does not")
    func refreshEndpoint() async throws {
        let relyingParty = try relyingParty(.wechat, tokenURL: FakeCarrier.tokenURL + "/access_token")
        _ = try await exchange(relyingParty).get()
        let subjects = try SignInSubjects()
        _ = try await relyingParty.refresh(
            Secret("r"), client: try client(),
            of: OriginalIDToken(issuer: "https://provider.example", subject: "u-1", claims: nil),
            provider: try await relyingParty.provider(subjects), correlationID: subjects.correlationID)
        #expect(
            carrier.http.requests.map { String($0.url.text.prefix { $0 != "?" }) }
                == [FakeCarrier.tokenURL + "/access_token", FakeCarrier.tokenURL + "/refresh_token"])
        for dialect in OAuthDialect.allCases {
            let url = try #require(EndpointURL("https://a.example/token", policy: .httpsOnly))
            #expect(dialect.refreshEndpoint(beside: url) == url)
        }
    }

    @Test(
        "A token response may be a form, which is read as JSON is",
        arguments: [
            ("access_token=a%2B1&expires_in=3600&scope=user%3Aemail&token_type=bearer", "form", "a+1", nil),
            ("access_token=a&token_type=Bearer", "text/plain", "a", nil),
            ("error=bad_verification_code&error_description=The+code", "form", nil, "invalid_grant"),
            ("access_token=a&access_token=b", "form", nil, nil), ("access_token", "form", nil, nil),
            ("", "form", nil, nil), ("access_token=a", "text/html", nil, nil),
            ("access_token=a&token_type=mac", "form", nil, nil),
            ("access_token=a" + (1...63).map { "&m\($0)=" }.joined(), "form", "a", nil),
            ("access_token=a" + (1...64).map { "&m\($0)=" }.joined(), "form", nil, nil),
        ] as [(String, String, String?, String?)])
    func form(_ body: String, _ type: String, _ token: String?, _ error: String?) async throws {
        let type = type == "form" ? "application/x-www-form-urlencoded; charset=utf-8" : type
        carrier.change { $0.token = OutboundResponse(status: 200, contentType: type, body: Array(body.utf8)) }
        switch try await exchange(try relyingParty()) {
        case .success(let tokens): #expect(tokens.accessToken.exposed == token)
        case .failure(let failure):
            #expect(token == nil, "\(failure)")
            #expect(failure.carrierError == error)
            #expect(failure.code == (error == nil ? .unusableResponse : .carrierRefused), "\(failure)")
        }
        // An OpenID provider must respond with JSON.
        let openID = try carrier.relyingParty()
        let subjects = try SignInSubjects()
        let refused = await failure { () async throws(OIDCError) in
            try await openID.exchange(
                code: Secret("c"), redirectURI: "a:/b", codeVerifier: nil,
                client: ClientCredentials(clientID: subjects.clientID, authentication: .clientSecretBasic(Secret("s"))),
                provider: try await openID.provider(subjects), correlationID: subjects.correlationID)
        }
        #expect(refused?.code == .unusableResponse)
    }

    private static let user = #"{"id":"u-1","email":"public@b.example"}"#

    @Test(
        "The primary address of the list is the user's, with its flag; a list that fails ends no sign-in",
        arguments: [
            (
                #"[{"email":"x@b.example","verified":true},{"email":"p@b.example","primary":true,"verified":true}]"#,
                200, "p@b.example", true
            ),
            (#"[{"email":"p@b.example","primary":true,"verified":false}]"#, 200, "p@b.example", false),
            (
                #"[{"email":"x@b.example"},{"email":"v@b.example","verified":true},"#
                    + #"{"email":"w@b.example","verified":true}]"#,
                200, "v@b.example", true
            ),
            (
                #"{"values":[{"email":"p@b.example","is_primary":true,"is_confirmed":true}]}"#, 200, "p@b.example", true
            ),
            (#"[{"email":"x@b.example","verified":false}]"#, 200, "public@b.example", nil),
            (#"[{"email":7,"primary":true},3]"#, 200, "public@b.example", nil), ("[]", 200, "public@b.example", nil),
            (#"{"message":"Not Found"}"#, 404, "public@b.example", nil), ("nothing", 200, "public@b.example", nil),
        ] as [(String, Int, String, Bool?)])
    func emails(_ list: String, _ status: Int, _ email: String, _ isVerified: Bool?) async throws {
        // The list is at an address that the carrier's script has for something else.
        carrier.change {
            $0.userInfo = .json(Self.user)
            $0.pushedAuthorization = .json(list, status: status)
        }
        let relyingParty = try relyingParty(emails: FakeCarrier.pushURL)
        let provider = try await relyingParty.provider(try SignInSubjects())
        let user = try await relyingParty.user(accessToken: Secret("access-1"), provider: provider)
        #expect(user.subject == "u-1")
        #expect(user.attributes.attributes[.email] == email)
        #expect(user.attributes.verified[.email] == isVerified)
        #expect((user.emailsFailure != nil) == (status != 200 || list == "nothing"))
        #expect(
            carrier.http.requests.map { $0.headers.first { $0.name == "Authorization" }?.value }
                == ["Bearer access-1", "Bearer access-1"])
    }

    @Test(
        "A member may be in an array, and a flag under another name",
        arguments: [
            (#"{"id":"1","data":[{"mail":"a@b.example"}],"verified":true}"#, true),
            (#"{"id":"1","data":[{"mail":"a@b.example"}],"verified":"false"}"#, false),
            (#"{"id":"1","data":[{"mail":"a@b.example"}],"verified":1,"email_verified":false}"#, true),
            (#"{"id":"1","data":[{"mail":"a@b.example"}],"verified":[],"email_verified":true}"#, nil),
            (#"{"id":"1","data":[],"verified":true}"#, nil), (#"{"id":"1","data":{"0":{"mail":"a@b.example"}}}"#, nil),
        ] as [(String, Bool?)])
    func members(_ body: String, _ isVerified: Bool?) throws {
        var members = UserMembers()
        members.attributes = [.email: try #require(UserEndpoint.Member("data.0.mail"))]
        members.verified = [.email: try #require(UserEndpoint.Member("verified"))]
        let object = try #require(JSONValue(parsing: Array(body.utf8)).object)
        let info = UserInfo(object, members)
        #expect(info.attributes[.email] == (body.contains("mail") ? "a@b.example" : nil))
        #expect(info.verified[.email] == isVerified)
        for path in ["data.1.mail", "data.-1.mail", "data.x.mail", "data.00.mail.more"] {
            #expect(try #require(UserEndpoint.Member(path)).value(in: object) == nil)
        }
        // The name of a claim may have dots itself.
        let claim = "https://a.example/mail"
        let named = try #require(JSONValue(parsing: Array(#"{"\#(claim)":"a"}"#.utf8)).object)
        #expect(try #require(UserEndpoint.Member(claim)).value(in: named)?.string == "a")
    }
}
