import HTTPServer
import LatchkeyAPI
import LatchkeyConfiguration
import OpenIDConnect
import Testing

@Suite("The former name of a key")
struct FormerNameTests {
    private static let limits = [
        "per_address", "sign_ins_per_address", "starts_per_address", "starts_per_subnet", "per_api_key",
        "changes_per_user", "prompts_per_user",
    ].map { ("rate_limit_rules.\($0)", "rate_limits.\($0)", "7/1h") }

    private static let names =
        limits + [
            ("http.limits.max_requests_under_way", "http.limits.max_concurrent_requests", "7"),
            ("outbound.per_host_connections", "outbound.max_connections_per_host", "7"),
            ("outbound.per_carrier_requests", "outbound.max_requests_per_carrier", "7"),
        ]

    /// A text with a value at a key.
    private func yaml(_ key: String, _ value: String) -> String {
        let parts = key.split(separator: ".")
        return parts.dropLast().map { "{\($0): " }.joined() + "{\(parts.last ?? ""): \(value)}"
            + String(repeating: "}", count: parts.count - 1)
    }

    private func variable(_ key: String) -> String {
        "LATCHKEY_" + key.uppercased().replacing(".", with: "_")
    }

    private func value(of key: String, in loaded: LoadedConfiguration) -> String? {
        ConfigurationReference.values(of: loaded.configuration).first { $0.key == key }?.value
    }

    @Test("is accepted in the file, with a warning that names the current one", arguments: names)
    func file(former: String, present: String, text: String) throws {
        let loaded = try load(yaml(former, text))
        #expect(value(of: present, in: loaded) == text)
        #expect(loaded.origins[present] == .file(path: "test.yaml", line: 1))
        let warning = try #require(loaded.warnings.first { $0.key == former })
        #expect(
            "\(warning)" == "\(former): is the former name of a key; write \(present) [test.yaml line 1]")
    }

    @Test(
        "of a switch was that of its group: a single value, with the variable that the switch has",
        arguments: ["on", "off"])
    func ofSwitch(text: String) throws {
        let loaded = try load("rate_limits: \(text)")
        #expect(value(of: "rate_limits.enabled", in: loaded) == text)
        #expect(
            loaded.warnings.contains {
                "\($0)" == "rate_limits: is the former name of a key; write rate_limits.enabled [test.yaml line 1]"
            })
        let set = try load(environment: needed.with("LATCHKEY_RATE_LIMITS", text))
        #expect(value(of: "rate_limits.enabled", in: set) == text)
        #expect(!set.warnings.contains { $0.reason.contains("former") })
        let group = try load("rate_limits: {enabled: \(text), per_address: 7/1h}")
        #expect(value(of: "rate_limits.enabled", in: group) == text)
        #expect(value(of: "rate_limits.per_address", in: group) == "7/1h")
        #expect(!group.warnings.contains { $0.reason.contains("former") })
        #expect(try load("rate_limits:\n").warnings.count == load("").warnings.count)
    }

    @Test("is accepted as a variable, with a warning that names the current one", arguments: names)
    func environment(former: String, present: String, text: String) throws {
        let loaded = try load(environment: needed.with(variable(former), text))
        #expect(value(of: present, in: loaded) == text)
        let warning = try #require(loaded.warnings.first { $0.key == variable(former) })
        #expect(warning.reason == "is the former name of a variable" && warning.remedy == "set \(variable(present))")
        #expect(!loaded.warnings.contains { $0.reason.contains("there is no such setting") })
    }

    @Test("beside the present one is a problem, in the file and in the environment")
    func both() {
        let problem = "outbound.max_connections_per_host: is given twice, also by its former name; remove outbound."
        for text in [
            "outbound: {per_host_connections: 7, max_connections_per_host: 7}",
            "outbound: {max_connections_per_host: 7, per_host_connections: 8}",
        ] {
            #expect(problems(text) == [problem + "per_host_connections [test.yaml line 1]"])
        }
        let environment = needed.with("LATCHKEY_OUTBOUND_PER_HOST_CONNECTIONS", "7")
            .with("LATCHKEY_OUTBOUND_MAX_CONNECTIONS_PER_HOST", "7")
        #expect(
            problems(environment: environment) == [
                "outbound.max_connections_per_host: LATCHKEY_OUTBOUND_PER_HOST_CONNECTIONS is set too; set one of them "
                    + "[LATCHKEY_OUTBOUND_MAX_CONNECTIONS_PER_HOST]"
            ])
    }

    @Test("in the file is overridden by the present variable, as the present key is")
    func overridden() throws {
        let loaded = try load(
            "outbound: {per_host_connections: 7}",
            environment: needed.with("LATCHKEY_OUTBOUND_MAX_CONNECTIONS_PER_HOST", "8"))
        #expect(loaded.configuration.outbound.connectionsPerHost == 8)
    }

    @Test("is in the reference, and is not suggested for a misspelled key")
    func reference() {
        let known = ConfigurationReference.keys(of: settings).flatMap { key in key.formerNames.map { ($0, key.name) } }
            .filter { $0.0 != "rate_limits" && $0.1 != "encryption_keys" }
        #expect(known.map(\.0) == Self.names.map(\.0) && known.map(\.1) == Self.names.map(\.1))
        #expect(problems("outbound: {per_host_connection: 7}").allSatisfy { !$0.contains("did you mean outbound.per") })
    }
}
