import Primitives

extension CarrierSimulator.StandIn {
    /// One for each preset, sorted by name.
    public static let all = (withIDTokens + withoutIDTokens).sorted { $0.name < $1.name }

    /// The stand-in of a preset; nil if there is none.
    public static func named(_ name: String) -> Self? { all.first { $0.name == name } }

    /// Providers with metadata and ID tokens.
    private static let withIDTokens: [Self] = [
        openID("apple", "Apple", "https://developer.apple.com/documentation/signinwithapplerestapi") {
            $0.authenticationMethods = ["client_secret_post"]
            $0.takesSignedSecrets = true
            $0.revokes = true
            // With a scope of name or email.
            $0.demandedParameters = ["response_mode": "form_post"]
            $0.scopes = ["openid", "name", "email"]
            $0.user = nil
            $0.changeIDToken = { claims, facts in
                guard facts.has("email") else { return }
                claims["email"] = .string(facts.user.email)
                claims["email_verified"] = "true"
                claims["is_private_email"] = "false"
            }
            $0.firstParameters = { facts in
                let name: JSONMembers = [
                    "firstName": .string(facts.user.givenName), "lastName": .string(facts.user.familyName),
                ]
                let user: JSONMembers = ["name": name.value, "email": .string(facts.user.email)]
                return facts.has("name") ? [("user", user.value.text)] : []
            }
            $0.changeNativeToken = { claims, _, _ in claims["nonce_supported"] = true }
            $0.appsHashNonces = true
            $0.settings = [
                ("team_id", "ABCDE12345"), ("private_key_id", "ABC123DEFG"), ("native_audiences", "[com.example.app]"),
            ]
        },
        openID("auth0", "Auth0", "https://auth0.com/docs/api/authentication") {
            $0.settings = [("domain", "example.auth0.com")]
            $0.logout = .standard
            $0.refresh = .scope("offline_access")
        },
        openID("authentik", "authentik", "https://docs.goauthentik.io/add-secure-apps/providers/oauth2/") {
            $0.settings = [("url", "https://id.example.com"), ("application", "example")]
            $0.logout = .standard
            $0.refresh = .scope("offline_access")
        },
        openID("azure-b2c", "Microsoft", "https://learn.microsoft.com/azure/active-directory-b2c/openid-connect") {
            $0.settings = [
                ("tenant", "contoso"), ("tenant_id", tenant), ("policy", "B2C_1_signin"),
            ]
            $0.metadataPath = "/policy/v2.0/.well-known/openid-configuration"
            $0.issuerPath = "/\(tenant)/v2.0/"
            $0.logout = .standard
            $0.refresh = .scope("offline_access")
            // It has no userinfo endpoint of its own: the token has what the policy says.
            $0.user = nil
            $0.changeIDToken = { claims, facts in
                claims["name"] = .string(facts.user.name)
                claims["emails"] = .texts([facts.user.email])
            }
            $0.givesVerifiedEmail = false
        },
        openID(
            "cognito", "Amazon Cognito",
            "https://docs.aws.amazon.com/cognito/latest/developerguide/federation-endpoints.html"
        ) {
            $0.settings = [("region", "eu-central-1"), ("user_pool", "eu-central-1_AbCdEfGhI")]
            $0.scopes = ["openid", "profile", "email", "phone", "aws.cognito.signin.user.admin"]
            $0.notes = ["`logout_uri` at logout"]
            $0.logout = .cognito
            $0.user = { $0.claims(verified: "true") }
            $0.changeIDToken = { claims, facts in
                claims["cognito:username"] = .string(facts.user.id)
                claims["token_use"] = "id"
            }
        },
        openID("dropbox", "Dropbox", "https://developers.dropbox.com/oidc-guide") {
            $0.refresh = .parameter("token_access_type", "offline")
            $0.scopes = ["openid", "profile", "email"]
            // Its userinfo is POST. The ID token has the same.
            $0.user = nil
            $0.changeIDToken = { claims, facts in
                claims["given_name"] = .string(facts.user.givenName)
                claims["family_name"] = .string(facts.user.familyName)
                claims["email"] = .string(facts.user.email)
                claims["email_verified"] = true
            }
            $0.givesName = false
        },
        openID(
            "entra-external-id", "Microsoft",
            "https://learn.microsoft.com/entra/external-id/customers/concept-supported-features-customers"
        ) { $0.isEntra(tenant: tenant) },
        openID("fusionauth", "FusionAuth", "https://fusionauth.io/docs/lifecycle/authenticate-users/oauth/endpoints") {
            $0.settings = [("url", "https://auth.example.com")]
            $0.logout = .standard
            $0.refresh = .scope("offline_access")
        },
        openID("gitlab", "GitLab", "https://docs.gitlab.com/integration/openid_connect_provider/") {
            $0.scopes = ["openid", "profile", "email", "read_user", "api"]
        },
        openID("google", "Google", "https://developers.google.com/identity/openid-connect/openid-connect") {
            $0.knownParameters = [
                "nonce", "access_type", "display", "hd", "include_granted_scopes", "login_hint", "prompt", "hl",
                "response_mode", "claims",
            ]
            $0.scopes = ["openid", "profile", "email"]
            $0.refresh = .parameter("access_type", "offline")
            $0.changeIDToken = { claims, facts in
                claims["azp"] = .string(facts.terms.clientID)
                claims["email"] = .string(facts.user.email)
                claims["email_verified"] = true
            }
            $0.changeNativeToken = { claims, facts, app in
                claims["azp"] = .string(app)
                claims["name"] = .string(facts.user.name)
                claims["given_name"] = .string(facts.user.givenName)
                claims["family_name"] = .string(facts.user.familyName)
            }
            $0.settings = [("native_audiences", "[latchkey]")]
        },
        openID(
            "id-austria", "ID Austria",
            "https://www.id-austria.gv.at/de/developer/anbinden/anbindung-mit-openid-connect"
        ) {
            $0.reading = "an excerpt; the issuer by an ID token in a public test"
            $0.authenticationMethods = ["client_secret_post"]
            $0.refresh = .never
            $0.user = nil
            $0.changeIDToken = { claims, facts in
                claims["given_name"] = .string(facts.user.givenName)
                claims["family_name"] = .string(facts.user.familyName)
            }
            $0.givesName = false
            $0.givesVerifiedEmail = nil
        },
        openID("kakao", "Kakao", "https://developers.kakao.com/docs/latest/en/kakaologin/rest-api") {
            $0.reading = "not the page, but a public copy of the metadata"
            $0.authenticationMethods = ["client_secret_post"]
            $0.scopes = ["openid", "profile_nickname", "account_email"]
            $0.user = { ["sub": .string($0.subject), "nickname": .string($0.user.name)] }
            $0.notes = ["`logout_redirect_uri` at logout"]
            $0.logout = .kakao
            $0.givesVerifiedEmail = nil
        },
        openID("keycloak", "Keycloak", "https://www.keycloak.org/securing-apps/oidc-layers") {
            $0.settings = [("url", "https://sso.example.com"), ("realm", "example")]
            $0.authenticationMethods = [
                "client_secret_basic", "client_secret_post", "private_key_jwt", "client_secret_jwt",
            ]
            $0.scopes = ["openid", "profile", "email", "phone", "address", "offline_access", "roles"]
            $0.namesIssuer = true
            $0.logout = .standard
            $0.changeIDToken = { claims, facts in
                claims["azp"] = .string(facts.terms.clientID)
                claims["typ"] = "ID"
                claims["acr"] = "1"
            }
        },
        openID(
            "linkedin", "LinkedIn",
            "https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2"
        ) {
            $0.reading = "an excerpt; the issuer by a public copy of the metadata"
            $0.authenticationMethods = ["client_secret_post"]
            $0.scopes = ["openid", "profile", "email"]
            $0.pkce = .refused
            $0.repeatsNonce = false
            $0.refresh = .never
        },
        openID("login-gov", "Login.gov", "https://developers.login.gov/oidc/logout/") {
            $0.reading = "the page about logout"
            $0.settings = [("url", "https://secure.login.gov")]
            $0.authenticationMethods = ["private_key_jwt"]
            $0.demandedParameters = ["acr_values": "urn:acr.login.gov:auth-only"]
            $0.changeIDToken = { claims, _ in claims["acr"] = "urn:acr.login.gov:auth-only" }
            $0.refresh = .never
            $0.notes = ["refuses `id_token_hint` at logout"]
            $0.logout = .withoutHint
            $0.givesName = false
        },
        openID("logto", "Logto", "https://docs.logto.io/integrate-logto/third-party-applications") {
            // Its keys are of P-384, which the simulator has not.
            $0.settings = [("url", "https://example.logto.app"), ("id_token_signed_response_alg", "RS256")]
            $0.logout = .standard
            $0.namesIssuer = true
            $0.refresh = .scope("offline_access")
        },
        openID("microsoft", "Microsoft", "https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc") {
            $0.isEntra(tenant: tenant)
        },
        openID(
            "microsoft-personal", "Microsoft",
            "https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc"
        ) {
            $0.isEntra()
            $0.issuerPath = "/\(tenant)/v2.0"
            $0.metadataPath = "/consumers/v2.0/.well-known/openid-configuration"
        },
        openID(
            "microsoft-tenants", "Microsoft",
            "https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc"
        ) {
            $0.isEntra()
            $0.issuerPath = "/{tenantid}/v2.0"
            $0.metadataPath = "/common/v2.0/.well-known/openid-configuration"
            $0.settings = [("tenants", "any")]
        },
        openID("okta", "Okta", "https://developer.okta.com/docs/api/openapi/okta-oauth/guides/overview/") {
            $0.settings = [("domain", "example.okta.com")]
            $0.scopes = ["openid", "profile", "email", "address", "phone", "offline_access", "groups"]
            $0.logout = .standard
            $0.refresh = .scope("offline_access")
        },
        openID("onelogin", "OneLogin", "https://developers.onelogin.com/openid-connect/api/provider-config") {
            $0.settings = [("subdomain", "example")]
            $0.logout = .standard
        },
        openID(
            "oracle-idcs", "Oracle", "https://docs.oracle.com/en/cloud/paas/identity-cloud/rest-api/OpenIDConnect.html"
        ) {
            $0.settings = [("domain", "idcs-0123456789abcdef.identity.oraclecloud.com")]
            $0.issuerPath = "/"
            $0.metadataPath = "/domain/v2.0/.well-known/openid-configuration"
            $0.logout = .standard
            $0.refresh = .scope("offline_access")
        },
        openID("ory", "Ory", "https://www.ory.com/docs/oauth2-oidc/openid-connect-claims-scope-custom") {
            $0.settings = [("project", "example-slug")]
            $0.logout = .standard
            $0.namesIssuer = true
            $0.refresh = .scope("offline_access")
        },
        openID("pingone", "PingOne", "https://apidocs.pingidentity.com/pingone/platform/v1/api/#openid-connect") {
            $0.settings = [("environment", tenant)]
            $0.logout = .standard
            $0.namesIssuer = true
        },
        openID(
            "salesforce", "Salesforce",
            "https://help.salesforce.com/s/articleView?id=sf.remoteaccess_using_openid_discovery_endpoint.htm"
        ) {
            $0.logout = .standard
            $0.refresh = .scope("refresh_token")
        },
        openID("slack", "Slack", "https://docs.slack.dev/authentication/sign-in-with-slack/") {
            $0.authenticationMethods = ["client_secret_post"]
            $0.scopes = ["openid", "profile", "email"]
            $0.pkce = nil
            $0.refresh = .never
            $0.changeTokens = { tokens, _ in tokens["ok"] = true }
            $0.user = { facts in
                var claims = facts.claims()
                claims["ok"] = true
                claims["https://slack.com/user_id"] = .string(facts.subject)
                return claims
            }
        },
        openID("twitch", "Twitch", "https://dev.twitch.tv/docs/authentication/getting-tokens-oidc/") {
            $0.reading = "an excerpt"
            $0.authenticationMethods = ["client_secret_post"]
            $0.pkce = nil
            $0.changeTokens = { tokens, facts in
                tokens["token_type"] = "bearer"
                tokens["scope"] = .texts(facts.terms.scopes)
            }
            // Only what the parameter claims asks for.
            $0.user = { facts in
                [
                    "sub": .string(facts.subject), "preferred_username": .string(facts.user.name),
                    "email": .string(facts.user.email), "email_verified": true,
                ]
            }
        },
        openID("yahoo", "Yahoo", "https://developer.yahoo.com/sign-in-with-yahoo/") {
            $0.scopes = ["openid", "profile", "email"]
        },
        openID("yahoo-japan", "Yahoo! JAPAN", "https://developer.yahoo.co.jp/yconnect/v2/") {
            $0.scopes = ["openid", "profile", "email", "address"]
        },
        openID("zitadel", "Zitadel", "https://zitadel.com/docs/apis/openidoauth/endpoints") {
            $0.settings = [("domain", "example.zitadel.cloud"), ("project", "\"123456789012345678\"")]
            $0.logout = .standard
            $0.notes = ["the project as a second audience"]
            $0.changeIDToken = { claims, facts in
                claims["aud"] = .array([.string(facts.terms.clientID), "123456789012345678"])
                claims["azp"] = .string(facts.terms.clientID)
            }
            $0.refresh = .scope("offline_access")
        },
    ]

    /// Providers without ID tokens, or whose ID tokens are of no use.
    private static let withoutIDTokens: [Self] = [
        oauth2(
            "amazon", "Amazon", "https://developer.amazon.com/docs/login-with-amazon/authorization-code-grant.html"
        ) { facts in
            ["user_id": .string(facts.subject), "name": .string(facts.user.name), "email": .string(facts.user.email)]
        } change: {
            $0.scopes = ["profile", "profile:user_id", "postal_code"]
            $0.changeTokens = { tokens, _ in tokens["token_type"] = "bearer" }
            $0.givesVerifiedEmail = false
        },
        oauth2("discord", "Discord", "https://docs.discord.com/developers/topics/oauth2") { facts in
            var user: JSONMembers = [
                "id": .string(facts.number), "username": .string(facts.user.id), "discriminator": "0",
                "global_name": .string(facts.user.name),
            ]
            if facts.has("email") {
                user["email"] = .string(facts.user.email)
                user["verified"] = true
            }
            return user
        } change: {
            $0.scopes = ["identify", "email", "openid", "guilds", "connections"]
        },
        oauth2(
            "facebook", "Facebook", "https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow"
        ) { facts in
            // Without fields it is the id and the name.
            let fields = facts.query["fields"]?.split(separator: ",").map(String.init) ?? ["id", "name"]
            let all: JSONMembers = [
                "id": .string(facts.number), "name": .string(facts.user.name),
                "first_name": .string(facts.user.givenName), "last_name": .string(facts.user.familyName),
                "email": .string(facts.user.email),
            ]
            return JSONMembers(members: all.members.filter { fields.contains($0.name) })
        } change: {
            $0.authenticationMethods = ["client_secret_post"]
            $0.scopes = ["public_profile", "email"]
            $0.userQuery = "?fields=id,name,first_name,last_name,email"
            $0.refresh = .never
            // Of Limited Login.
            $0.changeNativeToken = { claims, facts, _ in
                claims["iss"] = "https://www.facebook.com"
                claims["sub"] = .string(facts.number)
                claims["name"] = .string(facts.user.name)
                claims["given_name"] = .string(facts.user.givenName)
                claims["family_name"] = .string(facts.user.familyName)
                claims["email"] = .string(facts.user.email)
            }
            $0.settings = [("native_audiences", "[latchkey]")]
            $0.changeTokens = { tokens, _ in tokens["token_type"] = "bearer" }
            $0.givesVerifiedEmail = false
        },
        oauth2(
            "github", "GitHub",
            "https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps"
        ) { facts in
            [
                "login": .string(facts.user.id), "id": .integer(Int64(facts.number) ?? 1), "type": "User",
                "name": .string(facts.user.name), "email": .null,
            ]
        } change: {
            $0.authenticationMethods = ["client_secret_post"]
            $0.refresh = .never
            $0.changeTokens = { tokens, facts in
                tokens["token_type"] = "bearer"
                tokens["scope"] = .string(facts.terms.scopes.joined(separator: ","))
                tokens["expires_in"] = nil
            }
            $0.emails = { facts in
                [
                    ["email": "other@example.org", "primary": false, "verified": true, "visibility": .null],
                    ["email": .string(facts.user.email), "primary": true, "verified": true, "visibility": "private"],
                ]
            }
            $0.tokenRefusal = { code in
                let own = ["invalid_grant": "bad_verification_code", "invalid_client": "incorrect_client_credentials"]
                return ["error": .string(own[code] ?? code), "error_description": "The request was refused."]
            }
        },
        oauth2("line", "LINE", "https://developers.line.biz/en/reference/line-login/") { facts in
            ["sub": .string(facts.subject), "name": .string(facts.user.name)]
        } change: {
            $0.authenticationMethods = ["client_secret_post"]
            $0.scopes = ["openid", "profile", "email"]
            $0.givesVerifiedEmail = nil
        },
        oauth2("naver", "Naver", "https://developers.naver.com/docs/login/api/api.md") { facts in
            let user: JSONMembers = [
                "id": .string(facts.subject), "name": .string(facts.user.name), "email": .string(facts.user.email),
                "mobile_e164": .string(facts.user.phoneNumber),
            ]
            return ["resultcode": "00", "message": "success", "response": user.value]
        } change: {
            $0.authenticationMethods = ["client_secret_post"]
            $0.pkce = nil
            $0.changeTokens = { tokens, _ in
                tokens["token_type"] = "bearer"
                tokens["expires_in"] = "3600"
            }
            $0.givesVerifiedEmail = false
        },
        oauth2("paypal", "PayPal", "https://developer.paypal.com/docs/log-in-with-paypal/integrate/") { facts in
            [
                "user_id": .string("https://www.paypal.com/webapps/auth/identity/user/" + facts.subject),
                "name": .string(facts.user.name), "given_name": .string(facts.user.givenName),
                "emails": [["value": .string(facts.user.email), "primary": true, "confirmed": true]],
            ]
        } change: {
            $0.pkce = nil
            $0.userQuery = "?schema=paypalv1.1"
        },
        oauth2(
            "spotify", "Spotify", "https://developer.spotify.com/documentation/web-api/tutorials/code-flow"
        ) { facts in
            [
                "id": .string(facts.subject), "display_name": .string(facts.user.name),
                "email": .string(facts.user.email),
            ]
        } change: {
            $0.authenticationMethods = ["client_secret_basic"]
            $0.givesVerifiedEmail = false
        },
        oauth2("tiktok", "TikTok", "https://developers.tiktok.com/doc/login-kit-web/") { facts in
            let fields = facts.query["fields"]?.split(separator: ",").map(String.init) ?? []
            let all: JSONMembers = [
                "open_id": .string(facts.subject), "display_name": .string(facts.user.name),
                "avatar_url": "https://example.org/a.png",
            ]
            let user = JSONMembers(members: all.members.filter { fields.contains($0.name) })
            return ["data": ["user": user.value], "error": ["code": "ok", "message": "", "log_id": "1"]]
        } change: {
            $0.authenticationMethods = ["client_secret_post"]
            $0.names = ["client_id": "client_key"]
            $0.scopes = ["user.info.basic", "user.info.profile", "video.list"]
            $0.scopeSeparator = ","
            $0.pkce = nil
            $0.userQuery = "?fields=open_id,display_name"
            $0.changeTokens = { tokens, facts in
                tokens["open_id"] = .string(facts.subject)
                tokens["scope"] = .string(facts.terms.scopes.joined(separator: ","))
                tokens["refresh_expires_in"] = 31_536_000
            }
            $0.givesVerifiedEmail = nil
        },
        oauth2(
            "wechat", "WeChat",
            "https://developers.weixin.qq.com/doc/oplatform/en/Website_App/WeChat_Login/Wechat_Login.html"
        ) { facts in
            guard facts.query["openid"] == facts.subject
            else { return ["errcode": 40003, "errmsg": "invalid openid"] }
            return ["openid": .string(facts.subject), "nickname": .string(facts.user.name), "privilege": []]
        } change: {
            $0.authenticationMethods = ["client_secret_post"]
            $0.names = ["client_id": "appid", "client_secret": "secret"]
            $0.scopes = ["snsapi_login"]
            $0.scopeSeparator = ","
            $0.pkce = nil
            $0.takesGET = true
            $0.takesTokensInQuery = true
            $0.changeTokens = { tokens, facts in
                tokens["token_type"] = nil
                tokens["openid"] = .string(facts.subject)
            }
            $0.tokenRefusal = { code in
                ["errcode": code == "invalid_client" ? 40125 : 40029, "errmsg": "invalid request"]
            }
            $0.givesVerifiedEmail = nil
        },
        oauth2("x", "X", "https://docs.x.com/fundamentals/authentication/oauth-2-0/authorization-code") { facts in
            let user: JSONMembers = [
                "id": .string(facts.number), "name": .string(facts.user.name), "username": .string(facts.user.id),
            ]
            return ["data": user.value]
        } change: {
            $0.authenticationMethods = ["client_secret_basic"]
            $0.reading = "not the page, but public code for the e-mail address"
            $0.scopes = ["tweet.read", "users.read", "offline.access", "users.email"]
            $0.pkce = .required
            $0.refresh = .scope("offline.access")
            $0.changeTokens = { tokens, _ in tokens["token_type"] = "bearer" }
            $0.givesVerifiedEmail = nil
        },
        oauth2("zoom", "Zoom", "https://developers.zoom.us/docs/integrations/oauth/") { facts in
            [
                "id": .string(facts.subject), "first_name": .string(facts.user.givenName),
                "last_name": .string(facts.user.familyName), "display_name": .string(facts.user.name),
                "email": .string(facts.user.email), "verified": 1,
            ]
        } change: {
            $0.authenticationMethods = ["client_secret_basic"]
            $0.changeTokens = { tokens, _ in tokens["token_type"] = "bearer" }
        },
    ]

    private static func openID(
        _ name: String, _ title: String, _ source: String, _ change: (inout Self) -> Void = { _ in }
    ) -> Self {
        altered(Self(name, title, source, isOpenID: true), change)
    }

    private static func oauth2(
        _ name: String, _ title: String, _ source: String, _ user: @escaping @Sendable (Facts) -> JSONMembers,
        change: (inout Self) -> Void
    ) -> Self {
        altered(Self(name, title, source, isOpenID: false)) {
            $0.user = user
            change(&$0)
        }
    }

    /// It is Microsoft Entra ID, whose tokens name the tenant and do not say that an address is verified.
    private mutating func isEntra(tenant own: String? = nil) {
        if let own { settings = [("tenant", own)] }
        authenticationMethods = ["client_secret_post", "private_key_jwt", "client_secret_basic"]
        logout = .standard
        user = { $0.claims(verified: nil) }
        changeIDToken = { claims, _ in
            claims["tid"] = .string(Self.tenant)
            claims["ver"] = "2.0"
        }
        notes = ["`tid` in ID tokens"]
        givesVerifiedEmail = false
        refresh = .scope("offline_access")
    }
}
