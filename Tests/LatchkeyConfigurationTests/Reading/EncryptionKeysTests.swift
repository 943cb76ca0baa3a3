import LatchkeyConfiguration
import SignIn
import Testing

@Suite("The encryption keys")
struct EncryptionKeysTests {
    private static let both = String(repeating: "0a", count: 32)
    private static let vault = String(repeating: "0b", count: 32)
    private static let signing = String(repeating: "0c", count: 32)

    /// Where the keys are given, which of them each use has, and which former names are warned of.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var text = ""
        var variables: [String: String] = [:]
        var vault: [String] = []
        var signing: [String] = []
        var warnings: [String] = []

        var testDescription: String { name }
    }

    private static let files = ["both": both + "\n", "two": "\(both)\n\(vault)\n", "vault": vault, "signing": signing]
    private static let formerFile =
        "vault: {encryption_keys: [\(vault)]}\ntransactions: {encryption_keys: [\(signing)]}"

    private static let cases = [
        Case(name: "none"),
        Case(name: "in the file", text: "encryption_keys: [\(both)]", vault: [both], signing: [both]),
        Case(
            name: "in a file of their own, one a line", text: "encryption_keys_file: two", vault: [both, vault],
            signing: [both, vault]),
        Case(
            name: "in the variable", text: "encryption_keys: [\(vault)]",
            variables: ["LATCHKEY_ENCRYPTION_KEYS": "\(both),\(signing)"], vault: [both, signing],
            signing: [both, signing]),
        Case(
            name: "in the variable's file", variables: ["LATCHKEY_ENCRYPTION_KEYS_FILE": "both"], vault: [both],
            signing: [both]),
        Case(
            name: "the former ones, which differ", text: formerFile, vault: [vault], signing: [signing],
            warnings: ["vault.encryption_keys", "transactions.encryption_keys"]),
        Case(
            name: "the former one of the vault alone", text: "vault: {encryption_keys: \(vault)}", vault: [vault],
            warnings: ["vault.encryption_keys"]),
        Case(
            name: "the former one of the signing keys alone", text: "transactions: {encryption_keys_file: signing}",
            signing: [signing], warnings: ["transactions.encryption_keys"]),
        Case(
            name: "the former ones in variables",
            variables: [
                "LATCHKEY_VAULT_ENCRYPTION_KEYS": vault, "LATCHKEY_TRANSACTIONS_ENCRYPTION_KEYS_FILE": "signing",
            ], vault: [vault], signing: [signing],
            warnings: ["LATCHKEY_VAULT_ENCRYPTION_KEYS", "LATCHKEY_TRANSACTIONS_ENCRYPTION_KEYS_FILE"]),
        Case(
            name: "one former one in the file, the other in a variable",
            text: "vault: {encryption_keys_file: vault}",
            variables: ["LATCHKEY_TRANSACTIONS_ENCRYPTION_KEYS": signing], vault: [vault], signing: [signing],
            warnings: ["vault.encryption_keys", "LATCHKEY_TRANSACTIONS_ENCRYPTION_KEYS"]),
        Case(
            name: "the present ones before the former ones", text: "encryption_keys: [\(both)]\n\(formerFile)",
            vault: [both, vault], signing: [both, signing],
            warnings: ["vault.encryption_keys", "transactions.encryption_keys"]),
    ]

    private func ids(_ keys: [String]) -> [String] { keys.compactMap { EncryptionKey(hexadecimal: $0)?.id } }

    @Test("Each use has the present ones, and the former ones of its own, with a warning", arguments: cases)
    func uses(_ given: Case) throws {
        let environment = needed.merging(given.variables) { $1 }
        let loaded = try load(given.text, environment: environment, files: Self.files)
        #expect(loaded.configuration.vaultKeys.map(\.id) == ids(given.vault))
        #expect(loaded.configuration.keysOfSigningKeys.map(\.id) == ids(given.signing))
        let warned = loaded.warnings.filter { $0.reason.contains("former") }
        #expect(warned.map(\.key) == given.warnings)
        for warning in warned {
            let isVariable = warning.key.hasPrefix("LATCHKEY_")
            #expect(warning.remedy == "move its keys to \(isVariable ? "LATCHKEY_ENCRYPTION_KEYS" : "encryption_keys")")
        }
        #expect(!loaded.warnings.contains { $0.reason.contains("there is no such") })
        let shown = ConfigurationReference.values(of: loaded.configuration).map(\.value).joined()
        for key in [Self.both, Self.vault, Self.signing] {
            #expect(!shown.contains(key) && !loaded.warnings.contains { "\($0)".contains(key) })
        }
    }

    @Test("A former name is an option, too, and the warning names the present option")
    func option() throws {
        let arguments = try SettingArguments(["--vault-encryption-keys-file", "vault"], of: settings)
        let all = Self.files.merging(["test.yaml": ""]) { $1 }
        let loaded = try ConfigurationLoader(settings, files: LatchkeyConfigurationTests.files(all))
            .load(file: "test.yaml", environment: needed, arguments: arguments)
        #expect(loaded.configuration.vaultKeys.map(\.id) == ids([Self.vault]))
        let warning = try #require(loaded.warnings.first { $0.reason.contains("former") })
        #expect(
            "\(warning)" == "--vault-encryption-keys-file: is the former name of an option; move its keys to "
                + "--encryption-keys-file [--vault-encryption-keys-file]")
    }

    @Test("The reference has the present name with the former ones, which are not suggested")
    func reference() {
        let keys = ConfigurationReference.keys(of: settings)
        #expect(
            keys.first { $0.name == "encryption_keys" }?.formerNames == [
                "vault.encryption_keys", "transactions.encryption_keys",
            ])
        #expect(!keys.contains { $0.name.hasSuffix(".encryption_keys") })
        #expect(problems("sessions: {encryption_keys: []}").contains { $0.contains("did you mean encryption_keys?") })
        #expect(
            problems("vault: {encryption_keyz: []}").allSatisfy { !$0.contains("did you mean vault.encryption_keys") })
    }
}
