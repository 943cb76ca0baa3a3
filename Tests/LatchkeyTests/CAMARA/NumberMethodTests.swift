import CarrierSimulator
import LatchkeyAPI
import LatchkeyConfiguration
import Primitives
import TestSupport
import Testing

/// A phone that asks which ways it has, and takes the first one, over sockets. It is behind a proxy, which names its
/// address and port.
@Suite("The ways of a phone, over sockets") struct NumberMethodTests {
    private static func configure(_ configuration: inout Configuration) {
        configuration.requestLimits.proxies.ranges = IPAddressRange.loopback
        configuration.requestLimits.proxies.portField = "x-client-port"
    }

    private func methods(_ walk: NumberWalk, _ query: String, _ headers: [String] = []) async throws -> App.Answer {
        try await walk.harness.app.send("GET", "/auth/number/methods?" + query, headers: headers)
    }

    private static func behindProxy(_ address: String, _ port: String?) -> [String] {
        ["X-Forwarded-For: 198.18.0.1, \(address)"] + (port.map { ["X-Client-Port: \($0)"] } ?? [])
    }

    /// The methods of an answer, each with its operator.
    private static func names(_ answer: App.Answer) -> [String] {
        (answer.json["methods"]?.array ?? []).compactMap(\.object).map {
            "\($0["method"]?.string ?? "") \($0["operator"]?.string ?? "")"
        }
    }

    @Test("A phone that names its network has its operator's ways, and each of them signs it in")
    func network() async throws {
        try await NumberWalk.with { (walk) async throws in
            let answer = try await methods(walk, "platform=android&os_version=15&mccmnc=310260")
            #expect(answer.status == 200, "\(answer.response)")
            #expect(Self.names(answer) == ["operator_token harbor", "redirect harbor"])
            #expect(answer.json["fallback"]?.array?.compactMap(\.string) == ["acme", "globex", "meetings", "zenkey"])
            #expect(try await walk.signInByToken(at: "harbor").result == "success")
            #expect(try await walk.signIn(device: "cellular:harbor:mira", at: "harbor").result == "success")
        }
    }

    static let phones: [(address: String, port: String?, operatorName: String?)] = [
        ("84.125.93.10", "4711", "northwind"), ("84.125.93.10", "4712", "harbor"),
        ("84.125.93.11", "1", "harbor"),
        // Without the port nobody is asked: phones share the address.
        ("84.125.93.10", nil, nil), ("84.125.93.11", nil, nil),
        ("84.125.93.12", "4711", nil),
    ]

    @Test("Telco Finder finds the operator of a phone that names nothing by its address and port", arguments: phones)
    func address(_ address: String, _ port: String?, _ name: String?) async throws {
        try await NumberWalk.with(finder: ["by_address: true"], configure: Self.configure) { (walk) async throws in
            walk.simulator.update("northwind") { $0.operatorProfile?.publicAddresses = ["84.125.93.10:4711"] }
            walk.simulator.update("harbor") {
                $0.operatorProfile?.publicAddresses = ["84.125.93.10:4712", "84.125.93.11"]
            }
            defer { if port == nil { #expect(walk.simulator.log.count(.telcoFinder) == 0) } }
            let headers = Self.behindProxy(address, port)
            for network in ["", "&mccmnc=65535", "&mccmnc=--", "&mccmnc="] {
                let answer = try await methods(walk, "platform=ios" + network, headers)
                #expect(Self.names(answer) == (name.map { ["operator_token \($0)", "redirect \($0)"] } ?? []))
            }
            let start = App.form(["client_type": "ios", "redirect_uri": NumberWalk.redirectURI, "mccmnc": "65535"])
            let page = try await Browser().get(
                "http://127.0.0.1:\(walk.harness.app.port)/auth/number/start?\(start)",
                headers: headers + ["Accept: application/json"])
            if let name {
                let issuer = try #require(walk.simulator.issuer(of: name))
                #expect(page.text.contains(issuer.replacing("/", with: "\\/")) || page.text.contains(issuer))
            } else {
                #expect(page.status == 400 && page.text.contains("operator_unknown"), "\(page.text)")
            }
        }
    }

    @Test("Without the setting no address is sent anywhere")
    func off() async throws {
        try await NumberWalk.with(finder: [], configure: Self.configure) { (walk) async throws in
            walk.simulator.update("northwind") { $0.operatorProfile?.publicAddresses = ["84.125.93.10"] }
            let answer = try await methods(walk, "platform=web", Self.behindProxy("84.125.93.10", "4711"))
            #expect(answer.status == 200 && Self.names(answer).isEmpty, "\(answer.response)")
            #expect(walk.simulator.log.count(.telcoFinder) == 0)
        }
    }
}
