import HTTPTypes
import LatchkeyAPI
import Primitives
import SignIn
import TestSupport
import Testing

/// `GET /auth/number/methods`.
@Suite("The ways of a phone")
struct NumberMethodsTests {
    private static let path = "/auth/number/methods?"

    /// The methods of a response, each as its members.
    private static func methods(_ answer: Answer) throws -> [String] {
        try #require(answer.json?["methods"]?.array, "\(answer.body)").compactMap(\.object).map { method in
            ["method", "provider", "operator", "requires"].map { method[$0]?.string ?? "-" }.joined(separator: " ")
        }
    }

    private static func both(_ name: String) -> [String] {
        ["operator_token number \(name) sim", "redirect number \(name) mobile_data"]
    }

    private static let ofFirebase = "firebase_pnv phone - play_services"

    private static func onAndroid(_ name: String) -> [String] {
        var methods = both(name)
        methods.insert(ofFirebase, at: 1)
        return methods
    }

    @Test(
        "They are those of the network's operator, in the order to try",
        arguments: [
            ("platform=android&os_version=15&mccmnc=310010", onAndroid("northwind")),
            ("platform=ios&mccmnc=310020", both("southwind")),
            ("platform=android&mcc=310&mnc=012", onAndroid("northwind")),
            // A page cannot ask the SIM.
            ("platform=web&mccmnc=310010", ["redirect number northwind mobile_data"]),
            // Nobody can say which of two operators it is.
            ("platform=ios&mccmnc=310030", []), ("platform=ios", []), ("platform=ios&mccmnc=65535", []),
            ("platform=ios&mccmnc=--", []), ("platform=ios&mccmnc=", []), ("platform=android", [ofFirebase]),
            ("platform=ios&mcc=65535&mnc=65535", []), ("platform=ios&mcc=--&mnc=--", []),
        ])
    func networks(_ query: String, _ expected: [String]) async throws {
        let app = try NumberApp()
        for key in [TestApp.apiKey, nil] {
            let answer = try await app.send(.get, Self.path + query, apiKey: key)
            #expect(answer.status == 200, "\(answer.body)")
            #expect(try Self.methods(answer) == expected)
            #expect(answer.json?["fallback"]?.array?.isEmpty == true)
        }
    }

    @Test(
        "A request without a platform, or with a malformed field, is refused",
        arguments: [
            "mccmnc=310010", "platform=windows", "platform=Android", "platform=ios&platform=web",
            "platform=ios&mccmnc=310", "platform=ios&phone_number=14155550101",
            "platform=ios&phone_number=+14155550101",
            "platform=ios&os_version=a%20b",
        ])
    func refused(_ query: String) async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        let answer = try await app.send(.get, Self.path + query)
        #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.body)")
        #expect(app.count(app.finder.tokenURL) == 0)
    }

    @Test("A key has only the operators and providers that it may use, and an unknown key none")
    func keys() async throws {
        let app = try NumberApp(
            keys: ["of-southwind": APIGrant(clients: ["at-southwind"]), "of-another": APIGrant(clients: ["another"])],
            southwindClient: "at-southwind")
        for (key, network, expected) in [
            ("of-southwind", "310020", Self.both("southwind")), ("of-southwind", "310010", []),
            ("of-another", "310020", []),
        ] {
            let answer = try await app.send(.get, Self.path + "platform=ios&mccmnc=" + network, apiKey: key)
            #expect(try Self.methods(answer) == expected, "\(key) \(network)")
        }
        let unknown = try await app.send(.get, Self.path + "platform=ios&mccmnc=310010", apiKey: "unknown")
        #expect(unknown.status == 401)
    }

    @Test("A number is looked up for callers with a key alone, and finds the operator")
    func number() async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        app.finder.script { $0.owner = "southwind" }
        let query = "platform=ios&mccmnc=65535&phone_number=%2B14155550101"
        let keyless = try await app.send(.get, Self.path + query, apiKey: nil)
        #expect(keyless.status == 400 && keyless.description.contains("phone_number needs an API key"))
        #expect(app.count(app.finder.searchURL) == 0)
        #expect(try Self.methods(try await app.send(.get, Self.path + query)) == Self.both("southwind"))
        #expect(app.count(app.finder.searchURL) == 1)
        app.finder.script { $0.owner = nil }
        #expect(try Self.methods(try await app.send(.get, Self.path + query)).isEmpty)
        #expect(!app.log.text.contains("4155550101"))
    }
}
