import CarrierSimulator
import Foundation
import LatchkeyClient
import TestSupport
import Testing

/// Native sign-ins with the Swift client, at stand-ins that give ID tokens as a device does. docs/mobile-apps.md has
/// copies of the code here.
@Suite("The Swift client with ID tokens of the device", .serialized)
struct NativeClientTests {
    private static let bundleID = "com.example.app"

    @Test("The user of a Google account signs in, and a token works once and with its own nonce")
    func google() async throws {
        try await StandInWalk.with(try #require(CarrierSimulator.StandIn.named("google"))) { walk in
            let (baseURL, clientID, apiKey) = (try #require(URL(string: walk.url(""))), "app", "test-key")
            let store = MemoryTokenStore()
            func googleIDToken(nonce: String) async throws -> String {
                try await walk.simulator.issueNativeToken(
                    at: "google", audience: StandInWalk.clientID, app: "ios-7.example", nonce: nonce, user: "jane"
                ).idToken
            }
            // snippet: swift-google
            let latchkey = Latchkey(.init(baseURL: baseURL, clientID: clientID, apiKey: apiKey), tokens: store)
            let nonce = try await latchkey.nonce(at: "google")
            let idToken = try await googleIDToken(nonce: nonce.text)  // with GoogleSignIn
            let session = try await latchkey.signIn(with: NativeToken(idToken: idToken, nonce: nonce), at: "google")
            // end
            #expect(session.isNewUser)
            #expect(try await latchkey.me().profile[.name] == "Jane Doe")
            let other = try await latchkey.nonce(at: "google")
            for token in [NativeToken(idToken: idToken, nonce: nonce), NativeToken(idToken: idToken, nonce: other)] {
                #expect(!"\(token)".contains(idToken) && !String(reflecting: token).contains(idToken))
                let error = try await failure { () async throws(LatchkeyError) in
                    try await latchkey.signIn(with: token, at: "google")
                }
                #expect(error.status == 401)
            }
            let unknown = try await failure { () async throws(LatchkeyError) in try await latchkey.nonce(at: "none") }
            #expect(unknown.code == "not_found")
        }
    }

    @Test("The user of an Apple account signs in with the hash of the nonce, the code and the name")
    func apple() async throws {
        try await StandInWalk.with(
            try #require(CarrierSimulator.StandIn.named("apple")), isForRefresh: true, otherClients: [Self.bundleID],
            clients:
                "[{id: latchkey}, {id: \(Self.bundleID), native_audiences: [\(Self.bundleID)], native_code: redeem}]"
        ) { walk in
            let baseURL = try #require(URL(string: walk.url("")))
            let latchkey = Latchkey(.init(baseURL: baseURL, clientID: Self.bundleID, apiKey: "test-key"))
            struct Credential {
                let identityToken, authorizationCode: String
                let fullName: PersonNameComponents
            }
            func appleCredential(nonce: String) async throws -> Credential {
                let token = try await walk.simulator.issueNativeToken(
                    at: "apple", audience: Self.bundleID, nonce: nonce, user: "jane")
                var name = PersonNameComponents()
                (name.givenName, name.familyName) = ("Jane", "Doe")
                return Credential(
                    identityToken: token.idToken, authorizationCode: token.authorizationCode, fullName: name)
            }
            // snippet: swift-apple
            let nonce = try await latchkey.nonce(at: "apple")
            let apple = try await appleCredential(nonce: nonce.sha256)  // with ASAuthorizationController
            let token = NativeToken(
                idToken: apple.identityToken, nonce: nonce, authorizationCode: apple.authorizationCode,
                name: apple.fullName)
            let session = try await latchkey.signIn(with: token, at: "apple")
            // end
            #expect(session.isNewUser)
            #expect(try await latchkey.me().profile[.name] == "Jane Doe")
            #expect(walk.simulator.log.entries.filter { $0.endpoint == .token }.count == 1 && walk.refusals == "")
        }
    }
}
