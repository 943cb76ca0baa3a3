import Examination
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// The way from the two sets of keys of earlier versions to one.
struct FormerEncryptionKeysTests {
    private static let vault = ResourceHarness.key
    private static let signing = String(repeating: "2e", count: 32)
    private static let new = String(repeating: "3d", count: 32)
    private static let former =
        "vault: {encryption_keys: ['\(vault)']}\ntransactions: {encryption_keys: ['\(signing)']}"

    /// Configurations, and what the doctor says of tokens and of signing keys that were stored under the former keys.
    private static let cases: [(text: String, findings: [String])] = [
        (
            former,
            [
                "ok: 1 rows of tokens are encrypted with the current key",
                "ok: 1 signing keys of receipts are encrypted with the current key",
            ]
        ),
        (
            "encryption_keys: ['\(vault)', '\(signing)']",
            [
                "ok: 1 rows of tokens are encrypted with the current key",
                "warning: 1 signing keys of receipts are encrypted with an older key",
            ]
        ),
        (
            "encryption_keys: ['\(new)', '\(signing)', '\(vault)']",
            [
                "warning: 1 rows of tokens are encrypted with an older key, or not at all",
                "warning: 1 signing keys of receipts are encrypted with an older key",
            ]
        ),
        (
            "encryption_keys: ['\(new)']\n\(former)",
            [
                "warning: 1 rows of tokens are encrypted with an older key, or not at all",
                "warning: 1 signing keys of receipts are encrypted with an older key",
            ]
        ),
    ]

    @Test("What the former keys encrypted is read by each configuration on the way")
    func update() async throws {
        try await ResourceHarness.with(configure: { configuration in
            configuration.encryptionKeys = []
            configuration.formerVaultKeys = EncryptionKey.of(Self.vault)
            configuration.signingKeys.encryptionKeys = EncryptionKey.of(Self.signing)
        }) { harness in
            let token = try await harness.signIn()
            #expect(try await harness.app.send("GET", "/.well-known/jwks.json").status == 200)
            for (text, findings) in Self.cases {
                #expect(try await vaultFindings(text, harness) == findings)
            }
            let lost = try await vaultFindings("encryption_keys: ['\(Self.vault)']", harness)
            #expect(
                lost.last
                    == "problem: 1 signing keys of receipts are encrypted with keys that encryption_keys does not have")
            for (text, _) in Self.cases {
                try await SignInHarness.withServer(try configuration(text, harness)) { app in
                    let answer = try await harness.fetch(token, at: app)
                    #expect(answer.status == 200, "\(answer.response.text)")
                }
            }
        }
    }

    /// The configuration of a harness with the keys of a text.
    private func configuration(_ text: String, _ harness: ResourceHarness) throws -> Configuration {
        let files = FileReader { (_, _) throws(FileReader.ReadError) in FileReader.Contents(bytes: Array(text.utf8)) }
        let loaded = try ConfigurationLoader(files: files).load(
            file: "test.yaml", environment: [:], purpose: .operation)
        var configuration = harness.base.configuration
        configuration.encryptionKeys = loaded.configuration.encryptionKeys
        configuration.formerVaultKeys = loaded.configuration.formerVaultKeys
        configuration.signingKeys.encryptionKeys = loaded.configuration.signingKeys.encryptionKeys
        return configuration
    }

    /// What the doctor says of encrypted rows, while the network does not respond.
    private func vaultFindings(_ text: String, _ harness: ResourceHarness) async throws -> [String] {
        let http = ScriptedHTTPClient { _ throws(OutboundError) in
            throw OutboundError(.timedOut, mayHaveBeenSent: false, reason: "no response")
        }
        let report = await Doctor(try configuration(text, harness), features: .none, http: http).examine()
        return report.findings.filter { $0.subject == "vault" }.map { "\($0.severity.rawValue): \($0.message)" }
    }
}
