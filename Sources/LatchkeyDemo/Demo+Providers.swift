import CarrierSimulator
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn

/// The other providers of the demonstration: one with ID tokens, and one with OAuth 2 only.
extension CarrierSimulator {
    static let otherProviders = ["acme", "meetings"]

    /// The providers as an administrator would configure them.
    func providers(for client: Configuration.Client) -> [Configuration.Provider] {
        [openIDProvider(client), oauthProvider(client)].compactMap(\.self)
    }

    /// The carriers' issuers by network. They change with the simulator's port, so they are configured.
    var issuers: [MCCMNC: EndpointURL] {
        carriers.reduce(into: [:]) { issuers, carrier in
            if let network = MCCMNC(carrier.mccmnc) { issuers[network] = url(carrier.mccmnc, "") }
        }
    }

    private func openIDProvider(_ client: Configuration.Client) -> Configuration.Provider? {
        guard let issuer = url("acme", "") else { return nil }
        var client = client
        client.scopes = ["openid", "profile", "email"]
        return Configuration.Provider(id: "acme", name: "Acme Accounts", issuer: issuer, clients: [client])
    }

    private func oauthProvider(_ client: Configuration.Client) -> Configuration.Provider? {
        guard let issuer = EndpointURL("https://meetings.example", policy: .httpsOnly),
            let authorization = url("meetings", "/authorize"), let token = url("meetings", "/token"),
            let user = url("meetings", "/v2/users/me"), let subject = UserEndpoint.Member("id"),
            let name = UserEndpoint.Member("display_name")
        else { return nil }
        var client = client
        client.scopes = []
        var provider = Configuration.Provider(
            id: "meetings", kind: .oauth2, name: "Meetings", issuer: issuer, clients: [client])
        let endpoint = UserEndpoint(url: user, subject: subject)
        provider.endpoints = .init(authorization: authorization, token: token, user: endpoint)
        provider.rules.userMembers.attributes = [.name: name]
        return provider
    }

    private func url(_ provider: String, _ path: String) -> EndpointURL? {
        EndpointURL((issuer(of: provider) ?? "") + path, policy: .allowLoopbackHTTP)
    }
}

/// The mobile operators of the demonstration, one provider of verified phone numbers.
extension CarrierSimulator {
    /// Its name in paths.
    static let numberProvider = "number"

    /// The mobile operators as an administrator would configure them; none in a build that has no such providers.
    /// - Parameter key: In PEM. Authenticates the server (`private_key_jwt`), and signs its requests.
    func numberProviders(_ key: Secret, redirectURIs: [String]) -> [Configuration.Provider] {
        let operators = operators.map { carrier -> JSONValue in
            let name = carrier.mccmnc
            return .object(of: [
                ("name", .string(name)), ("mccmnc", .texts(carrier.operatorProfile?.mccmncs ?? [])),
                ("issuer", .string(issuer(of: name) ?? "")), ("api_root", .string(apiRoot(of: name) ?? "")),
                ("client_id", .string(Demo.numberClientID)), ("private_key_file", "key"),
            ])
        }
        let provider: JSONValue = .object(of: [
            ("kind", "camara"), ("name", "Phone number"), ("purpose", "dpv:FraudPreventionAndDetection"),
            ("sim_swap", .object(of: [("max_age_hours", 72)])), ("redirect_uris", .texts(redirectURIs)),
            ("client_types", Self.clientTypes), ("operators", .array(operators)),
        ])
        return Self.configured(Self.numberProvider, provider, files: ["key": key.exposed])
    }

    static let clientTypes = JSONValue.object(
        of: Demo.clientTypes.sorted { $0.key < $1.key }.map { uri, types in
            (name: uri, value: .texts(types.map(\.rawValue).sorted()))
        })

    /// The providers of a section of `providers`; none in a build that lacks their feature.
    /// - Parameter files: The texts of the files that the section names.
    static func configured(
        _ name: String, _ section: JSONValue, files: [String: String] = [:]
    ) -> [Configuration.Provider] {
        let file: JSONValue = .object(of: [
            ("allow_loopback_http", true), ("providers", .object(of: [(name, section)])),
        ])
        let texts = files.merging(["file": file.text]) { $1 }
        let reader = FileReader { (path, _) throws(FileReader.ReadError) in
            guard let text = texts[path] else { throw .notFound }
            return FileReader.Contents(bytes: Array(text.utf8))
        }
        let loader = ConfigurationLoader(FeatureList.standard.settings, files: reader)
        return (try? loader.load(file: "file", environment: [:], purpose: .demo))?.configuration.providers ?? []
    }
}
