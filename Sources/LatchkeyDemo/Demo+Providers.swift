import CarrierSimulator
import LatchkeyConfiguration
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

    /// The mobile operators as an administrator would configure them.
    /// - Parameter key: Authenticates the server (`private_key_jwt`), and signs its requests.
    func numberProviders(_ key: ClientKey, redirectURIs: [String]) -> [Configuration.Provider] {
        guard let id = ClientID(Demo.numberClientID), let purpose = Purpose("dpv:FraudPreventionAndDetection")
        else { return [] }
        var client = Configuration.Client(id: id, authentication: .privateKeyJWT(key, audience: .endpoint))
        client.redirectURIs = redirectURIs
        client.clientTypes = Demo.clientTypes
        client.signingKey = key
        return operators.compactMap { provider(of: $0, client, purpose) }
    }

    private func provider(
        of carrier: Carrier, _ client: Configuration.Client, _ purpose: Purpose
    ) -> Configuration.Provider? {
        let name = carrier.mccmnc
        guard let issuer = EndpointURL(issuer(of: name) ?? "", policy: .allowLoopbackHTTP),
            let root = EndpointURL(apiRoot(of: name) ?? "", policy: .allowLoopbackHTTP),
            let apis = OperatorAPIs(root: root)
        else { return nil }
        let networks = Set((carrier.operatorProfile?.mccmncs ?? []).compactMap(MCCMNC.init))
        var mobileOperator = MobileOperatorSettings(name: name, networks: networks, apis: apis, purpose: purpose)
        (mobileOperator.simSwap.maximumAge, mobileOperator.simSwap.ifSwapped) = (72, .refuse)
        var client = client
        client.scopes = mobileOperator.scopes
        var provider = Configuration.Provider(
            id: "\(Self.numberProvider)/\(name)", kind: .camara, name: "Phone number", issuer: issuer, clients: [client]
        )
        provider.mobileOperator = mobileOperator
        return provider
    }
}
