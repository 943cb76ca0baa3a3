import OpenIDConnect
import Primitives
import Synchronization
import TestSupport

/// A carrier without a network: discovery, token endpoint, keys and userinfo, each of which a test can script.
final class FakeCarrier: Sendable {
    typealias Answer = ScriptedHTTPClient.Responder

    /// How the carrier differs from a conforming one.
    struct Script: Sendable {
        var subject = "SUBJECT-of-jane"
        var nonce: String? = "NONCE-of-the-app"
        /// More or changed claims of the ID token, as JSON; nil omits a claim.
        var claims: [String: String?] = [:]
        /// Of the issuer's own metadata.
        var configuration: Answer?
        var discovery: Answer?
        var revocation: Answer?
        var token: Answer?
        var keys: Answer?
        var userInfo: Answer?
        var backchannelAuthentication: Answer?
        /// At the endpoint of CIBA.
        var providerBackchannel: Answer?
    }

    static let host = "https://oidc.test.xcijv.com"
    static let issuer = host + "/issuer"
    static let tokenURL = host + "/token"
    static let userInfoURL = host + "/userinfo"
    static let backchannelAuthenticationURL = host + "/async"
    static let providerBackchannelURL = host + "/bc-authorize"
    static let revocationURL = host + "/revoke"
    static let discoveryURL = host + "/discovery"

    let http = ScriptedHTTPClient { _ throws(OutboundError) in .json("{}") }
    private let script = Mutex(Script())
    private let key = TestSigningKey(keyID: "key-1")
    private let clock: ManualClock

    init(clock: ManualClock) {
        self.clock = clock
        http.answer { [weak self] request async throws(OutboundError) in
            guard let self else { throw OutboundError(.shutDown, mayHaveBeenSent: false, reason: "the test is over") }
            return try await self.answer(request)
        }
    }

    /// Changes the carrier's behaviour from now on.
    func script(_ change: (inout Script) -> Void) { script.withLock { change(&$0) } }

    /// How often a code was posted.
    var tokenPosts: Int { http.requests(to: Self.tokenURL).count }
    var userInfoRequests: Int { http.requests(to: Self.userInfoURL).count }

    private func answer(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        let script = script.withLock { $0 }
        switch request.url.text.prefix(while: { $0 != "?" }) {
        case Self.issuer + "/.well-known/openid-configuration":
            return try await script.configuration?(request) ?? .json(Self.metadata)
        case Self.revocationURL: return try await script.revocation?(request) ?? .json("{}")
        case Self.discoveryURL: return try await script.discovery?(request) ?? .json(Self.metadata)
        case Self.tokenURL: return try await script.token?(request) ?? tokens()
        case Self.host + "/keys": return try await script.keys?(request) ?? keySet()
        case Self.backchannelAuthenticationURL:
            return try await script.backchannelAuthentication?(request)
                ?? .json(#"{"auth_req_id":"CARRIER-request","expires_in":"300","correlation_id":"corr-1"}"#)
        case Self.providerBackchannelURL:
            return try await script.providerBackchannel?(request)
                ?? .json(#"{"auth_req_id":"PROVIDER-request","expires_in":120,"interval":5}"#)
        case Self.userInfoURL: return try await script.userInfo?(request) ?? .json(Self.userInfo(of: script.subject))
        default: return .json("{}", status: 404)
        }
    }

    /// The response of a conforming key set.
    func keySet() -> OutboundResponse { .json(#"{"keys":[\#(key.jwk)]}"#) }

    /// The response of conforming discovery.
    func discovered() -> OutboundResponse { .json(Self.metadata) }

    /// The response of a conforming token endpoint.
    func tokens() -> OutboundResponse {
        .json(
            #"{"access_token":"ACCESS-token","token_type":"Bearer","expires_in":300,"id_token":"\#(idToken())"}"#)
    }

    /// An ID token as scripted.
    func idToken() -> String {
        let script = script.withLock { $0 }
        let now = clock.now.secondsSinceEpoch
        var claims: [String: String?] = [
            "iss": "\"\(Self.issuer)\"", "sub": "\"\(script.subject)\"", "aud": "\"client-1\"", "iat": "\(now)",
            "exp": "\(now + 300)", "acr": "\"a3\"", "nonce": script.nonce.map { "\"\($0)\"" },
        ]
        claims.merge(script.claims) { _, new in new }
        let members = claims.compactMap { name, json in json.map { (name: name, json: $0) } }
        return (try? key.token(claims: TokenText.object(members))) ?? ""
    }

    /// A port token of this carrier for a former user.
    func portToken(of subject: String) -> String {
        let claims = TokenText.object([
            ("iss", "\"\(Self.issuer)\""), ("sub", "\"\(subject)\""), ("aud", "\"client-1\""),
            ("iat", "\(clock.now.secondsSinceEpoch)"),
        ])
        return (try? key.token(claims: claims, type: "port_token+jwt")) ?? ""
    }

    static func userInfo(of subject: String) -> String {
        #"""
        {"sub":"\#(subject)","name":"Jane Doe","given_name":"Jane","family_name":"Doe","email":"jane@mail.example",
        "postal_code":"90210-3456","phone_number":"+13101234567"}
        """#
    }

    static let metadataWithRevocation = metadata.replacing(
        "\"jwks_uri\"", with: "\"revocation_endpoint\":\"\(revocationURL)\",\"jwks_uri\"")
    static let metadataWithoutBackchannel = metadata.replacing("server_initiated_authorization_endpoint", with: "x")

    private static let metadata = #"""
        {"issuer":"\#(issuer)","authorization_endpoint":"\#(host)/authorize","token_endpoint":"\#(tokenURL)",
        "userinfo_endpoint":"\#(userInfoURL)","jwks_uri":"\#(host)/keys","end_session_endpoint":"\#(host)/logout",
        "server_initiated_authorization_endpoint":"\#(backchannelAuthenticationURL)",
        "backchannel_authentication_endpoint":"\#(providerBackchannelURL)",
        "backchannel_token_delivery_modes_supported":["poll","ping"],
        "response_types_supported":["code"],"id_token_signing_alg_values_supported":["RS256","ES256"]}
        """#
}
