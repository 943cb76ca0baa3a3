import Foundation
import Primitives
import TestSupport
import Testing

@testable import LatchkeyConfiguration

@Suite("The JSON Schema of the configuration")
struct ConfigurationSchemaTests {
    /// Set to `write`, the test writes the document instead of comparing it.
    private static let variable = "LATCHKEY_CONFIGURATION_SCHEMA"
    private static let path = Repository.path("docs/configuration.schema.json")

    private let schema: JSONValue

    init() throws { schema = try JSONValue(parsing: Array(ConfigurationSchema.text(of: settings).utf8)) }

    @Test("docs/configuration.schema.json matches the program")
    func current() throws {
        if ProcessInfo.processInfo.environment[Self.variable] == "write" {
            try Data(ConfigurationSchema.text(of: settings).utf8).write(to: URL(fileURLWithPath: Self.path))
            return
        }
        let committed = try String(contentsOfFile: Self.path, encoding: .utf8)
        #expect(
            committed == ConfigurationSchema.text(of: settings),
            "make configuration-schema writes docs/configuration.schema.json")
    }

    /// A YAML text as an editor reads it (YAML 1.2, core schema).
    private func json(ofYAML text: String) throws -> JSONValue {
        try json(YAMLDocument.value(of: text) { .file(path: "test.yaml", line: $0) })
    }

    private func json(_ node: ConfigurationNode) -> JSONValue {
        switch node.value {
        case .empty: .null
        case .text(let text):
            if let number = Int64(text) { .integer(number) } else { Bool(text).map { .bool($0) } ?? .string(text) }
        case .list(let items): .array(items.map(json))
        case .mapping(let entries): .object(of: entries.map { ($0.name, json($0.node)) })
        }
    }

    private func faults(ofYAML text: String) throws -> [String] {
        SchemaChecker(document: schema).faults(of: try json(ofYAML: text), schema, at: "the file")
    }

    @Test("It accepts the example, as it is and with every key set")
    func example() throws {
        let text = try Repository.text("Config/latchkey.example.yaml")
        #expect(try faults(ofYAML: text).isEmpty)
        #expect(try faults(ofYAML: ExampleText.uncommented(text)).isEmpty)
    }

    @Test("It accepts the configuration in every manifest of Config/kubernetes")
    func manifests() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Repository.path("Config/kubernetes"))
        var found = 0
        for name in names {
            for document in try Repository.text("Config/kubernetes/\(name)").components(separatedBy: "\n---\n") {
                guard case .mapping(let entries) = try YAMLDocument.value(of: document, place: { _ in .none }).value,
                    case .mapping(let data)? = entries.first(where: { $0.name == "data" })?.node.value
                else { continue }
                for entry in data {
                    guard case .text(let text) = entry.node.value, entry.name.hasSuffix(".yaml") else { continue }
                    found += 1
                    #expect(try faults(ofYAML: text).isEmpty, "\(name)")
                }
            }
        }
        #expect(found == names.count)
    }

    /// What the loader reads, in spellings that the example does not have.
    static let accepted = [
        "{}", "http:", "http: {port: '8080'}", "log: {level: off}", "rate_limits: false", "rate_limits: off",
        "rate_limits:", "rate_limits: {enabled: off}",
        "sessions: {access_lifetime: 3600}", "http: {host: ['127.0.0.1', '::1']}",
        "http: {limits: {max_body_bytes: 64KiB}}",
        "outbound: {per_host_connections: 4}", "zenkey: {clients: 'a:b,c:d'}", "zenkey: {clients: ['a:b']}",
        "zenkey: {clients_file: /run/secrets/clients}", "zenkey: {clients: [{id: a, secret_file: b}]}",
        "api_keys: [a, {key: b, clients: [c]}]", "zenkey: {issuers: '310410=https://a.example'}",
        "zenkey: {issuers: {310410: 'https://a.example'}}", "rate_limits: {per_address: 0}",
        "http: {limits: {max_connections_per_address: auto}}",
        "providers: {acme: {kind: oidc, issuer: 'https://a.example', clients: [{id: a, secret: b}]}}",
        "providers: {google: {client_id: a, client_secret_file: b, scopes: [openid]}}",
        "providers: {work: {preset: keycloak, url: 'https://a.example', realm: b, client_id: a, client_secret: c}}",
        "providers: {n: {kind: camara, operators: [{name: a, mccmnc: [310010]}], sim_swap: {max_age_hours: 3}}}",
        "providers: {a: {resources: {b: {url: 'https://a.example'}}, client_types: {'https://b': [web]}}}",
    ]

    @Test("It accepts every spelling that the loader reads", arguments: accepted)
    func accepts(_ text: String) throws { #expect(try faults(ofYAML: text).isEmpty) }

    @Test(
        "It refuses wrong names, and values of a wrong form",
        arguments: [
            "prot: 80", "http: {prot: 80}", "http: 80", "http: {port: 70000}", "http: {port: x}", "http: {port: [80]}",
            "log: {level: loud}", "rate_limits: maybe", "rate_limits: [on]", "rate_limits: {enabled: maybe}",
            "sessions: {access_lifetime: 1w}",
            "http: {limits: {max_body_bytes: 64kb}}", "rate_limits: {per_address: 5}",
            "zenkey: {clients: [{id: a, secrets: b}]}", "zenkey: {clients: {id: a}}", "providers: {acme: {kind: saml}}",
            "providers: {acme: {clients: [{id: a, pkce: maybe}]}}", "public_url: [a]", "api_keys: [{keys: a}]",
            "providers: {a: {resources: {b: {uri: 'https://a.example'}}}}",
        ])
    func refuses(_ text: String) throws { #expect(try !faults(ofYAML: text).isEmpty) }

    @Test("It has every key, with its meaning and its default")
    func keys() throws {
        func value(of name: String) -> JSONObject? {
            var found = schema.object
            for part in name.split(separator: ".") {
                found = found?["properties"]?.object?[String(part)]?.object
            }
            return found
        }
        for key in ConfigurationReference.keys(of: settings) where key.environmentName != nil {
            let known = try #require(value(of: key.name), "\(key.name)")
            #expect(known["description"]?.string == key.meaning)
            #expect((known["default"] != nil) == (key.defaultValue != nil), "\(key.name)")
            for former in key.formerNames {
                let known = try #require(value(of: former), "\(former)")
                // A former name may be a group now.
                #expect(known["deprecated"] == true || known["properties"] != nil)
            }
        }
    }
}
