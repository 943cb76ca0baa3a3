import CarrierSimulator
import Crypto
import HTTPServer
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Primitives
import TestSupport
import Testing

/// The steps of an app that signs its user in by number, at the simulator's operators.
struct NumberWalk: Sendable {
    static let redirectURI = "com.example.app://callback"
    private static let key = P256.Signing.PrivateKey()

    let harness: SignInHarness

    var simulator: CarrierSimulator { harness.simulator }
    private var origin: String { "http://127.0.0.1:\(harness.app.port)" }

    /// The provider `number` with both operators, in the words of an operator of Latchkey.
    /// - Parameters:
    ///   - simSwap: The value of `sim_swap`.
    ///   - hashed: The value of `hashed_phone_number`.
    ///   - more: More lines of the provider.
    ///   - ofNorthwind: More lines of the operator northwind.
    ///   - finder: More lines of the provider's Telco Finder, which is that of `harbor`; nil for none.
    static func configuration(
        _ simulator: CarrierSimulator?, simSwap: String = "{if_swapped: off}", hashed: Bool = false,
        more: [String] = [], ofNorthwind: [String] = [], finder: [String]? = nil, allowsHTTP: Bool = true
    ) throws -> Configuration {
        let contents = files(
            simulator, simSwap: simSwap, hashed: hashed, more: more, ofNorthwind: ofNorthwind, finder: finder,
            allowsHTTP: allowsHTTP)
        let reader = FileReader { (path, _) throws(FileReader.ReadError) in
            guard let content = contents[path] else { throw .notFound }
            return FileReader.Contents(bytes: Array(content.utf8), isReadableByAll: false)
        }
        let needed = ["LATCHKEY_API_KEYS": "test-key"]
        return try ConfigurationLoader(FeatureList.standard.settings, files: reader).load(
            file: "latchkey.yaml", environment: needed, purpose: .operation
        ).configuration
    }

    /// The configuration's file `latchkey.yaml`, and the files that it names.
    static func files(
        _ simulator: CarrierSimulator?, simSwap: String = "{if_swapped: off}", hashed: Bool = false,
        more: [String] = [], ofNorthwind: [String] = [], finder: [String]? = nil, allowsHTTP: Bool = true
    ) -> [String: String] {
        var lines = [
            "allow_loopback_http: \(allowsHTTP)", "providers:", "  number:", "    kind: camara",
            "    purpose: dpv:FraudPreventionAndDetection", "    sim_swap: \(simSwap)",
            "    redirect_uris: [\"\(redirectURI)\"]",
        ]
        if let finder {
            lines += [
                "    telco_finder:", "      issuer: \(simulator?.issuer(of: "harbor") ?? "")",
                "      api_root: \(simulator?.apiRoot(of: "harbor") ?? "")",
                "      client_id: \(SignInHarness.clientID)", "      private_key_file: key",
            ]
            lines += finder.map { "      " + $0 }
        }
        lines += more.map { "    " + $0 } + ["    operators:"]
        for (name, networks) in [("northwind", "\"310010\", \"310012\""), ("harbor", "\"310260\"")] {
            lines += [
                "      - name: \(name)", "        mccmnc: [\(networks)]",
                "        issuer: \(simulator?.issuer(of: name) ?? "http://127.0.0.1:1/\(name)")",
                "        api_root: \(simulator?.apiRoot(of: name) ?? "http://127.0.0.1:1/\(name)/api")",
                "        client_id: \(SignInHarness.clientID)", "        private_key_file: key",
                "        hashed_phone_number: \(hashed)",
            ]
            if name == "northwind" { lines += ofNorthwind.map { "        " + $0 } }
        }
        return [
            "latchkey.yaml": lines.joined(separator: "\n") + "\n", "key": key.pemRepresentation,
            "credentials.pem": TLSTexts.clientCertificate, "credentials.key": TLSTexts.clientKey,
        ]
    }

    static func with(
        simSwap: String = "{if_swapped: off}", hashed: Bool = false, more: [String] = [], ofNorthwind: [String] = [],
        finder: [String]? = nil, configure: (inout Configuration) -> Void = { _ in },
        _ body: (NumberWalk) async throws -> Void
    ) async throws {
        try await SignInHarness.with(register: register) { harness in
            let ofOperators = try configuration(
                harness.simulator, simSwap: simSwap, hashed: hashed, more: more, ofNorthwind: ofNorthwind,
                finder: finder)
            var configuration = harness.configuration
            configuration.providers += ofOperators.providers
            configure(&configuration)
            try await SignInHarness.withServer(configuration) { app in
                try await body(NumberWalk(harness: harness.using(app)))
            }
        }
    }

    private static func register(_ client: inout CarrierSimulator.Client) {
        client.authentication = .privateKeyJWT(publicKeyPEM: key.publicKey.pemRepresentation)
        client.publicKeyPEM = key.publicKey.pemRepresentation
        client.redirectURIs.append("http://127.0.0.1/auth/number/callback")
    }

    // MARK: Sign-ins

    /// How a sign-in ended.
    struct End: Sendable {
        /// `success`, or the error code.
        let result: String
        /// The session of a sign-in that succeeded.
        let token: String?
    }

    /// Signs in over a connection, by default of `jane` at `northwind`.
    func signIn(
        device: String = "cellular", at name: String = "northwind", correlationID: String = "corr-1"
    ) async throws -> End {
        let browser = Browser()
        let start = App.form([
            "client_type": "ios", "redirect_uri": Self.redirectURI, "operator": name, "correlation_id": correlationID,
        ])
        let page = try await browser.get("\(origin)/auth/number/start?\(start)")
        try #require(page.status == 303, "\(page.text)")
        let back = try await browser.get(page.location, headers: ["X-Simulated-Device: \(device)"])
        try #require(back.status == 302, "\(back.text)")
        let end = try await browser.get(back.location)
        try #require(end.location.hasPrefix(Self.redirectURI), "\(end.text)")
        guard let handle = end.parameters["session_id"] else {
            return End(result: end.parameters["error"] ?? "", token: nil)
        }
        return End(
            result: end.parameters["status"] ?? "",
            token: try await harness.app.post("/auth/session", ["session_id": handle]).token)
    }

    /// Signs in with a TS.43 operator token of a subscriber.
    func signInByToken(of user: String? = nil, at name: String = "northwind") async throws -> End {
        let token = try #require(simulator.makeOperatorToken(at: name, user: user))
        let answer = try await harness.app.post("/auth/number/sign-in", ["operator_token": token, "operator": name])
        return End(result: answer.error ?? "success", token: answer.token)
    }

    /// A member of the profile of a signed-in user.
    func me(_ end: End, _ name: String) async throws -> JSONValue? {
        let token = try #require(end.token)
        return try await harness.app.me(token).json[name]
    }

    func set(_ faults: Set<CarrierSimulator.Fault>) { simulator.setFaults(faults, for: "northwind") }

    // MARK: What the operator saw

    typealias Endpoint = CarrierSimulator.RequestLog.Endpoint

    func count(_ endpoint: Endpoint) -> Int { simulator.log.count(endpoint, "northwind") }

    func last(_ endpoint: Endpoint) throws -> CarrierSimulator.RequestLog.Entry {
        try #require(simulator.log.last(endpoint, "northwind"))
    }

    func all(_ endpoint: Endpoint) -> [CarrierSimulator.RequestLog.Entry] {
        simulator.log.entries.filter { $0.endpoint == endpoint && $0.mccmnc == "northwind" }
    }

    /// The seconds from `iat` to `exp`; many if one is missing.
    static func lifetime(of claims: JSONObject) -> Int64 {
        guard let issued = claims["iat"]?.integer, let expiry = claims["exp"]?.integer else { return .max }
        return expiry - issued
    }

    /// The claims of a JWT, unverified.
    static func claims(_ token: String?) throws -> JSONObject {
        let text = try #require(token)
        let parts = text.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let payload = try #require(Base64URL.decode(parts[1]))
        let object = try JSONValue(parsing: payload).object
        return try #require(object)
    }
}

extension SignInHarness {
    /// The same simulator with another server.
    func using(_ app: App) -> SignInHarness {
        var copy = self
        copy.app = app
        return copy
    }
}
