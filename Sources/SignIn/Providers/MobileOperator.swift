public import OpenIDConnect
import Primitives

/// One mobile operator of a provider of verified phone numbers: itself an OpenID provider, with the APIs of CAMARA.
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
        public init(name: String, networks: Set<MCCMNC>, apis: OperatorAPIs, purpose: Purpose) {
            self.name = name
            finderID = name
            self.networks = networks
            self.apis = apis
            self.purpose = purpose
        }

        /// The scopes of a sign-in: exactly one purpose.
        public var scopes: [String] { ["openid", purpose.scope, OperatorScope.devicePhoneNumber] }

        /// The scopes to verify a number: to compare it, or without one to ask for it.
        func scopes(toVerify number: MSISDN?) -> [String] {
            number == nil ? scopes : ["openid", purpose.scope, OperatorScope.verify]
        }
    }
}

/// What it means for a sign-in by number that somebody contradicts the number. The raw values are from the
/// configuration.
public enum NumberContradiction: String, Sendable, Hashable, CaseIterable {
    /// The number is not believed.
    case refuse
    /// The number is believed, and the contradiction is in the log.
    case report
    /// No API is asked.
    case off
}

/// What it means for a sign-in by number that somebody who is asked about the number cannot say. The raw values are
/// those of the configuration.
public enum NumberUncertainty: String, Sendable, Hashable, CaseIterable {
    /// The number is not believed.
    case refuse
    /// The number is believed, and the log says that the check had no result.
    case accept
}

/// What it means for a sign-in by number that the SIM was changed (CAMARA SIM Swap).
public struct SIMSwapPolicy: Sendable, Hashable {
    /// How long a change counts, in hours, from 1 to 2400.
    public var maximumAge = 240
    /// What a change leads to.
    public var ifSwapped = NumberContradiction.off
    /// The policy if the operator cannot say.
    public var ifUnknown = NumberUncertainty.refuse

    /// No check.
    public init() {}
}

/// How a provider of verified phone numbers uses GSMA's Telco Finder.
public struct TelcoFinderRules: Sendable, Hashable {
    /// Its issuer, as its metadata has it.
    public var issuer: EndpointURL
    /// Where Telco Finder is, and how it searches.
    public var finder: TelcoFinder
    /// This server at Telco Finder.
    public var client: SignInConfiguration.Client
    /// What it leads to that a number is another operator's than the one that reports it.
    public var ifOtherOperator = NumberContradiction.refuse
    /// What it leads to that Telco Finder does not tell the operator of a number.
    public var ifUnknown = NumberUncertainty.refuse

    /// Rules that refuse whatever Telco Finder does not confirm.
    public init(issuer: EndpointURL, finder: TelcoFinder, client: SignInConfiguration.Client) {
        self.issuer = issuer
        self.finder = finder
        self.client = client
    }
}

/// GSMA's Telco Finder, as a provider of verified phone numbers uses it.
package struct OperatorFinder: Sendable {
    package var rules: TelcoFinderRules
    package var relyingParty: RelyingParty

    package init(_ rules: TelcoFinderRules, _ relyingParty: RelyingParty) {
        self.rules = rules
        self.relyingParty = relyingParty
    }
}

/// What Telco Finder says of the operator that reports a number. The raw value is its name in the log.
package enum OperatorFinding: String, Sendable, Hashable {
    /// The number is this operator's.
    case same
    /// The number is another operator's.
    case other
    /// Telco Finder did not tell.
    case unknown
}
