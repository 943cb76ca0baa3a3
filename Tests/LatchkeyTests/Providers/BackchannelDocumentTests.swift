import CarrierSimulator
import Crypto
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Sign-ins with the configurations of backchannel authentication that documents show.
@Suite struct BackchannelDocumentTests {
    /// A document's example, with the name and the issuer that the provider has there.
    struct Shown: Sendable, CustomTestStringConvertible {
        let document: String
        let name: String
        let issuer: String
        let mode: BackchannelTokenDeliverySetting
        var testDescription: String { document }
    }

    @Test(
        "A user is signed in by the configuration that the document shows",
        arguments: [
            Shown(document: "docs/providers.md", name: "bank", issuer: "https://login.bank.example", mode: .poll),
            Shown(document: "docs/approvals.md", name: "acme", issuer: "https://acme.example", mode: .ping),
        ])
    func signsIn(shown: Shown) async throws {
        let key = P256.Signing.PrivateKey()
        try await BackchannelWalk.with(
            shown.mode, name: shown.name,
            configure: { configuration in
                let issuer = configuration.providers[0].issuer.text
                do {
                    configuration.providers = try Self.providers(shown, issuer, keyPEM: key.pemRepresentation)
                } catch {
                    Issue.record("\(error)")
                }
            }, register: { $0.authentication = .privateKeyJWT(publicKeyPEM: key.publicKey.pemRepresentation) }
        ) { walk in
            walk.simulator.update(BackchannelWalk.provider) { $0.authenticationMethods = ["private_key_jwt"] }
            #expect(walk.harness.configuration.providers.map(\.id) == [shown.name])
            let handle = try await walk.handle()
            #expect(try await walk.poll(handle, after: 6).token == nil)
            #expect(try await walk.decide() == (shown.mode == .ping ? [204] : []))
            // A ping makes the wait for the interval unnecessary.
            let done = try await walk.poll(handle, after: shown.mode == .ping ? 0 : 6)
            #expect(try await walk.app.me(try #require(done.token, "\(done.response)")).status == 200)
            let sent = try #require(walk.simulator.log.last(.backchannelAuthentication, BackchannelWalk.provider))
            #expect(sent["request"] != nil, "the client's key signs the request")
        }
    }

    /// The providers of the example at another issuer.
    private static func providers(
        _ shown: Shown, _ issuer: String, keyPEM: String
    ) throws -> [Configuration.Provider] {
        let examples = try Example.all().filter {
            $0.document == shown.document && $0.text.contains("backchannel_token_delivery_mode: \(shown.mode.rawValue)")
        }
        try #require(examples.count == 1)
        let text =
            "allow_loopback_http: true\n"
            + examples[0].text.replacing(shown.issuer, with: issuer)
            .replacing("id: …", with: "id: \(SignInHarness.clientID)")
        let contents = ["latchkey.yaml": text, "\(shown.name).p8": keyPEM]
        let reader = FileReader { (path, _) throws(FileReader.ReadError) in
            guard let content = contents[path] else { throw .notFound }
            return FileReader.Contents(bytes: Array(content.utf8), isReadableByAll: false)
        }
        return try ConfigurationLoader(files: reader).load(
            file: "latchkey.yaml", environment: [:], purpose: .operation
        ).configuration.providers
    }
}
