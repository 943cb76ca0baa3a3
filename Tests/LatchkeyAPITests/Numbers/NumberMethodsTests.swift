import HTTPTypes
import LatchkeyAPI
import LatchkeyConfiguration
import PhoneVerification
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
        let onAndroid = try await app.send(
            .get, Self.path + "platform=android&mccmnc=310020", apiKey: "of-southwind")
        #expect(try Self.methods(onAndroid) == Self.both("southwind"), "Firebase is another client")
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
        // A program can name any origin.
        let ofPage = try await app.send(.get, Self.path + query, [.origin: NumberApp.origin], apiKey: nil)
        #expect(ofPage.status == 400 && ofPage.description.contains("phone_number needs an API key"))
        #expect(app.count(app.finder.searchURL) == 1)
        app.finder.script { $0.owner = nil }
        #expect(try Self.methods(try await app.send(.get, Self.path + query)).isEmpty)
        #expect(!app.log.text.contains("4155550101"))
    }

    @Test("An address is looked up for callers with a key or of an allowed origin alone")
    func address() async throws {
        let app = try NumberApp(telcoFinder: { $0.finder.findsByAddress = true })
        app.finder.script { $0.owner = "southwind" }
        let path = Self.path + "platform=ios&mccmnc=65535"
        let keyless = try await app.send(.get, path, apiKey: nil, from: "84.125.93.10")
        #expect(keyless.status == 200, "\(keyless.body)")
        #expect(try Self.methods(keyless).isEmpty)
        #expect(app.count(app.finder.tokenURL) == 0 && app.count(app.finder.searchURL) == 0)
        #expect(try Self.methods(try await app.send(.get, path, from: "84.125.93.10")) == Self.both("southwind"))
        let ofPage = try await app.send(.get, path, [.origin: NumberApp.origin], apiKey: nil, from: "84.125.93.10")
        #expect(try Self.methods(ofPage) == Self.both("southwind"))
        #expect(app.count(app.finder.searchURL) == 2)
    }

    @Test("What cannot be told at the moment is not an empty list", arguments: TelcoFinderTests.failures)
    func failure(_ row: TelcoFinderTests.Failure) async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        app.finder.script { $0.search = row.answer }
        let query = "&phone_number=%2B14155550101"
        let answer = try await app.send(.get, Self.path + "platform=ios" + query)
        #expect(answer.status == row.status && answer.error == row.error, "\(answer.body)")
        // Another provider has a method on Android.
        let onAndroid = try await app.send(.get, Self.path + "platform=android" + query)
        #expect(onAndroid.status == 200, "\(onAndroid.body)")
        #expect(try Self.methods(onAndroid) == [Self.ofFirebase])
    }

    @Test("Too many look-ups of a number are not an empty list")
    func limit() async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        let path = Self.path + "platform=ios&phone_number=%2B14155550101"
        for _ in 0..<5 { #expect(try await app.send(.get, path).status == 200) }
        let answer = try await app.send(.get, path)
        #expect(answer.status == 429 && answer.error == "rate_limited", "\(answer.body)")
    }
}
