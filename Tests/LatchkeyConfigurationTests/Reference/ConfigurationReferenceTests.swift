import Crypto
import LatchkeyConfiguration
import SignIn
import TestSupport
import Testing

@Suite("The reference of the configuration")
struct ConfigurationReferenceTests {
    /// `Config/latchkey.example.yaml`.
    private let lines: [Substring]

    init() throws {
        let contents = try FileReader.system.contents(
            of: Repository.path("Config/latchkey.example.yaml"), limit: 1 << 20)
        lines = try #require(String(validating: contents.bytes, as: UTF8.self))
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    @Test("The unchanged example sets no key")
    func asItIs() throws {
        let loaded = try load(lines.joined(separator: "\n"))
        #expect(loaded.origins.keys.sorted() == ["api_keys", "zenkey.clients", "zenkey.discovery_url"])
    }

    @Test("The uncommented example sets every key, to its default if it has one")
    func uncommentedExample() throws {
        let bundle = [
            "/etc/ssl/certs/ca-certificates.crt": "-----BEGIN CERTIFICATE-----\n",
            "/etc/latchkey/authority.pem": "-----BEGIN CERTIFICATE-----\n",
            "/etc/latchkey/tls/fullchain.pem": TLSTexts.chain, "/etc/latchkey/tls/privkey.pem": TLSTexts.key,
            "/run/secrets/northwind.pem": P256.Signing.PrivateKey().pemRepresentation,
            "/run/secrets/finder.pem": P256.Signing.PrivateKey().pemRepresentation,
            "/run/secrets/credentials.pem": TLSTexts.clientCertificate,
            "/run/secrets/credentials-key.pem": TLSTexts.clientKey,
        ]
        let text = ExampleText.uncommented(lines.joined(separator: "\n"))
        // A pooler leads to PostgreSQL, and the default of the other URL does not.
        #expect(text.contains("\n  url: sqlite:///latchkey.db\n"))
        let loaded = try load(
            text, environment: ["LATCHKEY_DATABASE_URL": "postgres://db.example.com/latchkey?sslmode=verify-full"],
            files: bundle)
        let values = ConfigurationReference.values(of: loaded.configuration)
        for key in ConfigurationReference.keys(of: settings) where key.environmentName != nil {
            #expect(loaded.origins[key.name] != nil, "\(key.name) is missing")
            let value = values.first { $0.key == key.name }?.value
            #expect(value?.isEmpty == false, "\(key.name) has no value")
            if key.name != "database.url", let defaultValue = key.defaultValue {
                #expect(value == defaultValue, "\(key.name)")
            }
        }
        #expect(loaded.configuration.zenkey.clients.first?.redirectURIs.count == 2)
    }

    @Test("The example explains every key and names its variable")
    func documented() {
        let text = lines.map { line in
            var rest = line.drop { $0 == " " }
            if rest.hasPrefix("#") { rest = rest.dropFirst().drop { $0 == " " || $0 == "#" } }
            return String(rest)
        }.joined(separator: " ")
        let words = Set(text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
        for key in ConfigurationReference.keys(of: settings) {
            let sentence = key.meaning.split { $0 == "." || $0 == ";" || $0 == ":" }.first.map(String.init) ?? ""
            #expect(text.contains(sentence), "\(key.name): \(sentence)")
            guard let name = key.environmentName else {
                #expect(words.contains(String(key.name.split(separator: ".").last ?? "")), "\(key.name)")
                continue
            }
            #expect(words.contains(name))
            #expect(words.contains(name + "_FILE") == key.isSecret)
        }
        for word in words where word.hasPrefix("LATCHKEY_") {
            let isKnown = ConfigurationReference.keys(of: settings).contains { key in
                word == key.environmentName || (key.isSecret && word == (key.environmentName ?? "") + "_FILE")
            }
            #expect(isKnown, "\(word) is no variable")
        }
    }

    @Test("Names of keys and variables are unique, and every key has a type and a meaning")
    func unique() {
        let keys = ConfigurationReference.keys(of: settings)
        #expect(Set(keys.map(\.name)).count == keys.count)
        let variables = keys.flatMap { key in
            key.environmentName.map { key.isSecret ? [$0, $0 + "_FILE"] : [$0] } ?? []
        }
        #expect(Set(variables).count == variables.count)
        let options = keys.compactMap(\.optionName)
        #expect(Set(options).count == options.count && options.count == keys.compactMap(\.environmentName).count)
        #expect(keys.allSatisfy { !$0.type.isEmpty && $0.meaning.hasSuffix(".") })
    }

    @Test("Exactly the keys whose values are secrets by their type are marked as secret")
    func secrets() {
        let types = [
            "client secret", "id:secret", "private key", "encryption key", "API key", "URL of a proxy", "header field",
            "database URL", "group of providers", "list of webhooks", "a secret, or two",
        ]
        for key in ConfigurationReference.keys(of: settings) {
            #expect(key.isSecret == types.contains { key.type.contains($0) }, "\(key.name): \(key.type)")
        }
    }
}
