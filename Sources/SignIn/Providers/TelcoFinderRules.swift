public import OpenIDConnect
import Primitives

/// How a provider of verified phone numbers uses GSMA's Telco Finder.
public struct TelcoFinderRules: Sendable, Hashable {
    /// What it means that a number is another operator's than the one that reports it. The raw values are those of
    /// the configuration.
    public enum OtherOperator: String, Sendable, Hashable, CaseIterable {
        /// The number is not believed.
        case refuse
        /// The number is believed, and the difference is in the log.
        case report
        /// Telco Finder is not asked.
        case off
    }

    /// What it means that Telco Finder does not tell the operator of a number. The raw values are those of the
    /// configuration.
    public enum Unknown: String, Sendable, Hashable, CaseIterable {
        /// The number is not believed.
        case refuse
        /// The number is believed, and the log says that Telco Finder did not tell.
        case accept
    }

    /// Where Telco Finder is, and how it searches.
    public var finder: TelcoFinder
    /// This server at Telco Finder.
    public var client: SignInConfiguration.Client
    /// What another operator leads to.
    public var ifOtherOperator = OtherOperator.refuse
    /// What an unknown operator leads to.
    public var ifUnknown = Unknown.refuse

    /// Rules that refuse whatever Telco Finder does not confirm.
    public init(finder: TelcoFinder, client: SignInConfiguration.Client) {
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
