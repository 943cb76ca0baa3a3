import CarrierSimulator
import LatchkeyConfiguration
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import Testing

/// Numbers of Firebase Phone Number Verification, with the simulated key set and tokens.
@Suite("Firebase over sockets")
struct FirebaseFlowTests {
    private static let project = (number: "123456789012", id: "shop-1")
    private static let number = "+12025550123"

    /// A harness whose provider `phone` is a Firebase project, where numbers register.
    private static func with(_ body: (ProviderWalk) async throws -> Void) async throws {
        try await ProviderWalk.with(
            configure: { configuration in
                let base = configuration.zenkey.discoveryURL?.text.split(separator: "/").prefix(2) ?? []
                if let provider = provider(keys: base.joined(separator: "//") + "/firebase/v1beta/jwks") {
                    configuration.providers.append(provider)
                }
            }
        ) { try await body($0) }
    }

    private static func provider(keys: String) -> Configuration.Provider? {
        let projects = "https://fpnv.googleapis.com/projects/"
        guard let issuer = EndpointURL(projects + project.number, policy: .httpsOnly),
            let keys = EndpointURL(keys, policy: .allowLoopbackHTTP), let id = ClientID(issuer.text),
            let other = ClientID(projects + project.id)
        else { return nil }
        var client = Configuration.Client(id: id, authentication: .publicClient)
        client.requiredAudiences = [other]
        client.rules.native.nonce = .none
        client.idTokenSigningAlgorithm = .es256
        var provider = Configuration.Provider(id: "phone", kind: .firebasePNV, issuer: issuer, clients: [client])
        provider.rules.endpoints["jwks_uri"] = keys
        provider.numberRules = NumberSignInRules()
        provider.numberRules?.registersUnknown = true
        return provider
    }

    private static func token(
        _ walk: ProviderWalk, change: (inout JSONMembers) -> Void = { _ in }
    ) async throws -> String {
        try await walk.harness.simulator.makeFirebaseToken(
            for: number, projectNumber: project.number, projectID: project.id, change: change)
    }

    @Test("A token signs its number in, once, and another one signs in the same user")
    func signIn() async throws {
        try await Self.with { walk in
            let token = try await Self.token(walk)
            let first = try await walk.harness.app.post(
                "/auth/phone/start", ["method": "firebase_pnv", "token": token])
            let session = try #require(first.token, "\(first.response)")
            let me = try await walk.harness.app.me(session).json
            #expect(me["phone_number"]?.string == Self.number && me["phone_number_verified"]?.bool == true)
            let again = try await walk.harness.app.post("/auth/phone/sign-in", ["token": token])
            #expect(again.status == 401, "\(again.response)")
            let second = try await walk.harness.app.post("/auth/phone/sign-in", ["token": try await Self.token(walk)])
            let other = try #require(second.token, "\(second.response)")
            #expect(try await walk.harness.app.me(other).json["user_id"] == me["user_id"])
        }
    }

    @Test("A token of another project, or of no number, signs nobody in")
    func refused() async throws {
        try await Self.with { walk in
            let changes: [(inout JSONMembers) -> Void] = [
                { $0["aud"] = .string("https://fpnv.googleapis.com/projects/\(Self.project.number)") },
                { $0["aud"] = .texts(["https://fpnv.googleapis.com/projects/\(Self.project.id)"]) },
                { $0["iss"] = .string("https://fpnv.googleapis.com/projects/1") }, { $0["sub"] = .string("jane") },
            ]
            for change in changes {
                let token = try await Self.token(walk, change: change)
                let answer = try await walk.harness.app.post("/auth/phone/sign-in", ["token": token])
                #expect(answer.status == 401, "\(answer.response)")
            }
        }
    }
}
