import CarrierSimulator
import Crypto
import CryptoExtras
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Sign-ins at a provider that demands what a security profile says, over real sockets, with the profile as the only
/// setting.
@Suite(.serialized) struct SecurityProfileTests {
    private static let privateKey = try? _RSA.Signing.PrivateKey(pemRepresentation: RSAKeyPEM.first)

    /// The provider `acme` with a profile, read from a file as an operator writes it.
    private static func provider(
        _ profile: SecurityProfile, issuer: EndpointURL
    ) throws -> Configuration.Provider {
        let text = """
            allow_loopback_http: true
            providers:
              acme:
                kind: oidc
                issuer: \(issuer.text)
                profile: \(profile.rawValue)
                clients:
                  - id: \(SignInHarness.clientID)
                    private_key_file: key
                    authorization_signed_response_alg: ES256
                    redirect_uris: [\(ProviderWalk.webURI)]
            """
        let contents = ["latchkey.yaml": text, "key": try #require(privateKey).pemRepresentation]
        let reader = FileReader { (path, _) throws(FileReader.ReadError) in
            guard let content = contents[path] else { throw .notFound }
            return FileReader.Contents(bytes: Array(content.utf8), isReadableByAll: false)
        }
        let loaded = try ConfigurationLoader(files: reader).load(
            file: "latchkey.yaml", environment: [:], purpose: .operation)
        return try #require(loaded.configuration.providers.first)
    }

    private func with(
        _ profile: SecurityProfile, _ faults: Set<CarrierSimulator.Fault> = [],
        _ change: (inout CarrierSimulator.Carrier) -> Void = { _ in }, _ body: (ProviderWalk) async throws -> Void
    ) async throws {
        let publicKey = try #require(Self.privateKey).publicKey.pemRepresentation
        try await ProviderWalk.with(
            configure: { configuration in
                let issuer = configuration.providers[0].issuer
                guard let provider = try? Self.provider(profile, issuer: issuer) else {
                    Issue.record("the configuration is refused")
                    return
                }
                configuration.providers[0] = provider
            },
            register: {
                $0.authentication = .privateKeyJWT(publicKeyPEM: publicKey)
                $0.publicKeyPEM = publicKey
            }
        ) { walk in
            walk.harness.simulator.update("acme") {
                $0.authenticationMethods = ["private_key_jwt"]
                $0.signingAlgorithm = .es256
                change(&$0)
            }
            let demanded: Set<CarrierSimulator.Fault> =
                profile.signsMessages
                ? [.parRequired, .dpopRequired, .requestObjectRequired] : [.parRequired, .dpopRequired]
            walk.harness.simulator.setFaults(demanded.union(faults), for: "acme")
            try await body(walk)
        }
    }

    /// Header and claims of a JWT, unverified.
    private func parts(_ token: String?) throws -> (header: JSONObject, claims: JSONObject) {
        let parts = try #require(token).split(separator: ".").prefix(2).map { Base64URL.decode(String($0)) ?? [] }
        try #require(parts.count == 2)
        return (try #require(JSONValue(parsing: parts[0]).object), try #require(JSONValue(parsing: parts[1]).object))
    }

    @Test("A provider that demands the whole profile signs the user in", arguments: SecurityProfile.allCases)
    func signsIn(_ profile: SecurityProfile) async throws {
        try await with(profile) { walk in
            let browser = Browser()
            let asked = try await walk.start(browser, at: "acme")
            #expect(asked.parameters.items.map(\.name) == ["client_id", "request_uri"])
            let pushed = try #require(walk.harness.simulator.log.last(.pushedAuthorization, "acme"))
            #expect(pushed.authorization == nil)
            let assertion = try parts(pushed["client_assertion"])
            #expect(assertion.header["alg"]?.string == "PS256")
            #expect(assertion.header["typ"]?.string == "client-authentication+jwt")
            #expect(assertion.claims["aud"]?.string == walk.harness.configuration.providers[0].issuer.text)
            if profile.signsMessages {
                let request = try parts(pushed["request"])
                #expect(request.header["alg"]?.string == "PS256")
                #expect(request.claims["response_mode"]?.string == "jwt")
                #expect(request.claims["code_challenge_method"]?.string == "S256")
                #expect(pushed["redirect_uri"] == nil)
            } else {
                #expect(pushed["request"] == nil)
                #expect(pushed["code_challenge_method"] == "S256")
            }
            let callback = try await walk.approved(browser, asked)
            #expect(Browser.query(of: callback).items.map(\.name).contains("response") == profile.signsMessages)
            let done = try await browser.get(callback)
            #expect(done.parameters["status"] == "success", "\(done.location)")
            #expect(try await walk.userID(browser) != nil)
            let token = try #require(walk.harness.simulator.log.last(.token, "acme"))
            #expect(token.proof != nil && token.authorization == nil)
            #expect(try parts(token["client_assertion"]).header["alg"]?.string == "PS256")
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var profile = SecurityProfile.fapi2
        var faults: Set<CarrierSimulator.Fault> = []
        var isRS256 = false
        let error: String?
    }

    @Test(
        "What a provider does below the profile is refused",
        arguments: [
            Row(
                testDescription: "a response without iss", faults: [.authorizationMissingIssuer],
                error: "issuer_mismatch"
            ),
            Row(testDescription: "a token that is not bound", faults: [.dpopBearer], error: "carrier_error"),
            Row(testDescription: "an ID token with RS256", isRS256: true, error: "invalid_id_token"),
            Row(
                testDescription: "a response that is not signed", profile: .fapi2MessageSigning,
                faults: [.jarmUnsigned],
                error: nil),
        ])
    func below(_ row: Row) async throws {
        try await with(row.profile, row.faults) { carrier in
            // The metadata does not promise iss, and lists both algorithms.
            carrier.tampering.objects[.discovery, default: []].append { metadata in
                metadata["authorization_response_iss_parameter_supported"] = nil
                metadata["id_token_signing_alg_values_supported"] = ["RS256", "ES256"]
            }
            if row.isRS256 { carrier.signingAlgorithm = .rs256 }
        } _: { walk in
            let browser = Browser()
            let callback = try await walk.approved(browser, try await walk.start(browser, at: "acme"))
            let done = try await browser.get(callback)
            if let error = row.error {
                #expect(done.parameters["error"] == error, "\(done.location)")
            } else {
                #expect(done.status == 400 && done.location.isEmpty)
            }
            #expect(walk.sessionCookie(browser) == nil)
        }
    }
}
