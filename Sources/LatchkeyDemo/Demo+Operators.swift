import CarrierSimulator
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn

/// The mobile operators of the demonstration, one provider of verified phone numbers.
extension CarrierSimulator {
    /// Its name in paths.
    static let numberProvider = "number"

    /// The operators as an operator of this server would configure them.
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
        var mobileOperator = MobileOperator.Settings(
            name: name, networks: networks, apis: apis, purpose: purpose)
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
