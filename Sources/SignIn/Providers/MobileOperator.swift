public import OpenIDConnect
import Primitives

/// One mobile operator of a provider of verified phone numbers: an OpenID provider of its own, with the APIs of CAMARA.
/// Apps know all operators by the name of the provider in paths.
public struct MobileOperator: Sendable {
    package var settings: Settings
    package var server: AuthorizationServer

    /// - Parameter server: With the one client that is registered with the operator.
    package init(_ settings: Settings, _ server: AuthorizationServer) {
        self.settings = settings
        self.server = server
    }

    /// What the configuration says of an operator's APIs.
    public struct Settings: Sendable, Hashable {
        /// The provider's name in paths, such as `number`.
        public var provider: String
        /// The operator's name in requests.
        public var name: String
        /// The networks that it serves.
        public var networks: Set<MCCMNC>
        /// Where its CAMARA APIs are.
        public var apis: OperatorAPIs
        /// Why its APIs are called.
        public var purpose: Purpose
        /// What a changed SIM means.
        public var simSwap = SIMSwapPolicy()
        /// The id by which Telco Finder knows it; by default its name.
        public var finderID: String
        /// Whether a number to verify is sent as its SHA-256 (`hashedPhoneNumber`).
        public var takesHashes = false

        /// An operator without a check of the SIM.
        public init(
            provider: String, name: String, networks: Set<MCCMNC>, apis: OperatorAPIs, purpose: Purpose
        ) {
            self.provider = provider
            self.name = name
            finderID = name
            self.networks = networks
            self.apis = apis
            self.purpose = purpose
        }

        /// ``ProviderReference/text``. No path can have it, because of its slash.
        public var key: String { ProviderReference(provider: provider, operatorName: name).text }

        /// The scopes of a sign-in: exactly one purpose.
        public var scopes: [String] { ["openid", purpose.scope, OperatorScope.devicePhoneNumber] }

        /// The scopes of a verification: exactly one purpose.
        public var verificationScopes: [String] { ["openid", purpose.scope, OperatorScope.verify] }

        /// The scopes to verify a number: to compare it, or without one to ask for it.
        func scopes(toVerify number: MSISDN?) -> [String] { number == nil ? scopes : verificationScopes }
    }
}

/// What it means for a sign-in by number that the SIM was changed (CAMARA SIM Swap).
public struct SIMSwapPolicy: Sendable, Hashable {
    /// What a SIM that was changed leads to. The raw values are those of the configuration.
    public enum Swapped: String, Sendable, Hashable, CaseIterable {
        /// The number is not believed.
        case refuse
        /// The number is believed, and the change is in the log.
        case report
        /// The operator is not asked.
        case off
    }

    /// The policy if the operator cannot say. The raw values are those of the configuration.
    public enum Unknown: String, Sendable, Hashable, CaseIterable {
        /// The number is not believed.
        case refuse
        /// The number is believed, and the log says that the operator did not tell.
        case accept
    }

    /// How long a change counts, in hours, from 1 to 2400.
    public var maximumAge = 240
    /// What a change leads to.
    public var ifSwapped = Swapped.off
    /// The policy if the operator cannot say.
    public var ifUnknown = Unknown.refuse

    /// No check.
    public init() {}
}
