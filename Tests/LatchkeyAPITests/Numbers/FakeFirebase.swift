import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Firebase Phone Number Verification without a network: its keys, and the tokens that Google's library gives an app.
struct FakeFirebase: Sendable {
    static let host = "https://fpnv.googleapis.com"
    static let issuer = host + "/projects/123456789012"
    /// The other audience.
    static let byID = host + "/projects/shop-1"
    static let keysURL = host + "/v1beta/jwks"
    static let number = "+14155550101"

    let key = TestSigningKey(keyID: "fpnv-1")
    let clock: ManualClock

    init(clock: ManualClock) { self.clock = clock }

    /// What the provider is made of.
    static func server(
        _ http: any HTTPClient, _ clock: WallClock, nonce: SignInConfiguration.NativeSignInRules.Nonce = .none
    ) throws -> AuthorizationServer {
        var client = SignInConfiguration.Client(id: try #require(ClientID(issuer)), authentication: .publicClient)
        client.requiredAudiences = [try #require(ClientID(byID))]
        client.idTokenSigningAlgorithm = .es256
        client.native.nonce = nonce
        let configuration = RelyingParty.Configuration(
            issuer: try #require(EndpointURL(issuer, policy: .httpsOnly)),
            jwksURI: try #require(EndpointURL(keysURL, policy: .httpsOnly)))
        return AuthorizationServer(
            RelyingParty(configuration: configuration, http: http, clock: clock), clients: [client])
    }

    /// Nil if the request is for somebody else.
    func answer(_ request: OutboundRequest) -> OutboundResponse? {
        request.url.text == Self.keysURL ? .json(#"{"keys":[\#(key.jwk)]}"#) : nil
    }

    /// The claims of a token, as JSON texts.
    /// - Parameters:
    ///   - changes: More or changed claims; nil leaves one out.
    func claims(_ number: String = FakeFirebase.number, _ changes: [String: String?] = [:]) -> String {
        let now = clock.now.secondsSinceEpoch
        var claims: [(name: String, json: String)] = [
            ("iss", "\"\(Self.issuer)\""), ("sub", "\"\(number)\""), ("aud", #"["\#(Self.issuer)","\#(Self.byID)"]"#),
            ("iat", "\(now)"), ("exp", "\(now + 3600)"), ("jti", "\"\(RandomSource.system.token(bytes: 8))\""),
        ]
        for (name, json) in changes.sorted(by: { $0.key < $1.key }) {
            claims.removeAll { $0.name == name }
            if let json { claims.append((name, json)) }
        }
        return TokenText.object(claims)
    }

    func token(_ number: String = FakeFirebase.number, _ changes: [String: String?] = [:]) throws -> String {
        try key.token(claims: claims(number, changes))
    }
}

extension NumberApp {
    /// Posts a sign-in with a token of Firebase; `members` are further JSON members.
    func signIn(withFirebase token: String, _ members: String = "") async throws -> Answer {
        try await send(.post, "/auth/phone/sign-in", body: #"{"token":"\#(token)"\#(members)}"#)
    }

    /// Posts a verification of the number of a session's user.
    func verify(_ session: String, withFirebase token: String, _ members: String = "") async throws -> Answer {
        try await send(
            .post, "/users/me/phone/verifications", [.authorization: "Bearer \(session)"],
            body: #"{"token":"\#(token)"\#(members)}"#)
    }

    /// Adds the number of a token to the user of a session.
    func link(_ session: String, withFirebase token: String) async throws -> Answer {
        try await send(
            .post, "/users/me/identities", [.authorization: "Bearer \(session)"],
            body: #"{"provider":"phone","token":"\#(token)"}"#)
    }
}
