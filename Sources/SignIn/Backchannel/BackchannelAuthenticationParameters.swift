package import OpenIDConnect
package import Primitives

/// A sign-in that a client wants this server to start, without a browser.
package struct BackchannelAuthenticationParameters: Sendable {
    /// Whom a carrier is asked about, and how (ZenKey's server-initiated authorization).
    package struct CarrierRequest: Sendable {
        /// The user.
        package var loginHint: LoginHint
        package var network: MCCMNC
        package var redirectURI: String
        package var options: String?

        package init(loginHint: LoginHint, network: MCCMNC, redirectURI: String) {
            self.loginHint = loginHint
            self.network = network
            self.redirectURI = redirectURI
        }
    }

    /// Whom another provider is asked about, and how (CIBA Core section 7.1).
    package struct ProviderRequest: Sendable {
        /// The user.
        package var user: UserHint
        /// The text that the user compares on both devices.
        package var bindingMessage: BindingMessage?
        /// For how many seconds the request shall be valid.
        package var requestedExpiry: Int64?
        /// The user's secret against unwanted prompts.
        package var userCode: Secret?

        package init(user: UserHint) { self.user = user }
    }

    package enum Request: Sendable {
        case carrier(CarrierRequest)
        case provider(ProviderRequest)
    }

    /// The provider's name in paths.
    package var provider: String
    package var clientID: ClientID
    package var demand: AuthenticationDemand
    package var request: Request
    /// The client's id for this sign-in; a random one if nil.
    package var correlationID: CorrelationID?
    /// The names under which the client sent fields, by their names in RFC 6749, if they differ.
    package var sentNames: [String: String] = [:]

    package init(provider: String, clientID: ClientID, demand: AuthenticationDemand, request: Request) {
        self.provider = provider
        self.clientID = clientID
        self.demand = demand
        self.request = request
    }
}
