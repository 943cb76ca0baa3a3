import Crypto
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// An app with native sign-ins at the provider `bank`.
struct NativeApp: Sendable {
    static let bundleID = "com.example.app"
    static let nonce = "NONCE-of-the-app"

    let app: TestApp

    init(_ app: TestApp) { self.app = app }

    /// - Parameters:
    ///   - nonce: The client's `native_nonce`.
    ///   - keys: As those of ``TestApp``.
    ///   - change: Changes the client.
    init(
        nonce: SignInConfiguration.NativeSignInRules.Nonce = .issued, keys: [String: APIGrant] = [:],
        vaultKeys: [EncryptionKey] = [], registration: TestRegistration = TestRegistration(),
        rules: (inout ServerRules) -> Void = { _ in },
        party: (inout RelyingParty.Configuration) -> Void = { _ in },
        client change: (inout SignInConfiguration.Client) -> Void = { _ in }
    ) throws {
        let audiences = ["client-1", Self.bundleID].compactMap(ClientID.init)
        app = try TestApp(
            keys: keys, vaultKeys: vaultKeys,
            client: {
                $0.native.audiences = audiences
                $0.native.nonce = nonce
                change(&$0)
            }, registration: registration, rules: rules, party: party)
    }

    /// Another instance of the server, over the same store.
    func instance(nonce: SignInConfiguration.NativeSignInRules.Nonce = .issued) throws -> NativeApp {
        NativeApp(
            try TestApp(
                beside: app,
                client: {
                    $0.native.audiences = ["client-1", Self.bundleID].compactMap(ClientID.init)
                    $0.native.nonce = nonce
                }))
    }

    /// A nonce that the server has issued.
    func issuedNonce(at provider: String = TestApp.provider) async throws -> String {
        try #require(try await app.send(.post, "/auth/\(provider)/attempts").text("nonce"))
    }

    /// An ID token of the provider.
    /// - Parameter claims: More or changed claims, as JSON; nil omits a claim.
    func idToken(nonce: String?, _ claims: [String: String?] = [:]) -> String {
        app.carrier.script {
            $0.nonce = nonce
            $0.claims = claims
        }
        defer {
            app.carrier.script {
                $0.nonce = Self.nonce
                $0.claims = [:]
            }
        }
        return app.carrier.idToken()
    }

    /// - Parameter more: Further members of the body, as JSON.
    func signIn(
        _ idToken: String, nonce: String?, _ more: [(name: String, json: String)] = [],
        at provider: String = TestApp.provider, apiKey: String? = TestApp.apiKey
    ) async throws -> Answer {
        var members: [(name: String, json: String)] = [("id_token", "\"\(idToken)\"")]
        if let nonce { members.append(("nonce", "\"\(nonce)\"")) }
        return try await app.send(
            .post, "/auth/\(provider)/native", [.contentType: "application/json"],
            body: TokenText.object(members + more), apiKey: apiKey)
    }

    /// A sign-in with a new token and an issued nonce.
    func signIn(_ claims: [String: String?] = [:], _ more: [(name: String, json: String)] = []) async throws -> Answer {
        let nonce = try await issuedNonce()
        return try await signIn(idToken(nonce: nonce, claims), nonce: nonce, more)
    }

    static func sha256(_ text: String) -> String { SHA256.hash(data: Array(text.utf8)).hexadecimal }

    /// The same ES256 token with its other signature: for (r, s) also (r, n - s) verifies.
    static func otherSignature(of token: String) -> String {
        let order: [UInt8] =
            [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8) + [
                0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
            ]
        let parts = token.split(separator: ".").map(String.init)
        var signature = Base64URL.decode(parts[2]) ?? []
        var borrow = 0
        for index in (0..<32).reversed() {
            let difference = Int(order[index]) - Int(signature[32 + index]) - borrow
            signature[32 + index] = UInt8((difference + 256) % 256)
            borrow = difference < 0 ? 1 : 0
        }
        return "\(parts[0]).\(parts[1]).\(Base64URL.encode(signature))"
    }
}
