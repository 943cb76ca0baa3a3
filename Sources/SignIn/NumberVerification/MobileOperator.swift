public import OpenIDConnect
import Primitives

extension SignInConfiguration {
    /// One mobile operator of a provider of verified phone numbers (``Provider/Kind/camara``).
    ///
    /// Each operator is an OpenID provider of its own, with an entry of its own in ``SignInConfiguration/providers``,
    /// under ``key``. Apps know them all by the name of the provider in paths.
    public struct MobileOperator: Sendable, Hashable {
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

        /// The name in ``SignInConfiguration/providers``. No path can have it, because of its slash.
        public var key: String { "\(provider)/\(name)" }

        /// The scopes of a sign-in: exactly one purpose.
        public var scopes: [String] { ["openid", purpose.scope, OperatorScope.devicePhoneNumber] }

        /// The scopes of a verification: exactly one purpose.
        public var verificationScopes: [String] { ["openid", purpose.scope, OperatorScope.verify] }

        /// The scopes to verify a number: to compare it, or without one to ask for it.
        func scopes(toVerify number: MSISDN?) -> [String] { number == nil ? scopes : verificationScopes }
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

        /// What it leads to that the operator does not tell. The raw values are those of the configuration.
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
        /// What it leads to that the operator does not tell.
        public var ifUnknown = Unknown.refuse

        /// No check.
        public init() {}
    }
}

/// How a request chooses the operator.
package struct OperatorChoice: Sendable {
    /// The operator's name.
    package var name: String?
    /// A network that the operator serves.
    package var network: MCCMNC?
    /// A number of the operator, for Telco Finder. It chooses nothing beside a name or a network.
    package var number: MSISDN?
    /// Whose operators there are to choose from.
    package var caller: CallerTerms

    package init(
        name: String?, network: MCCMNC?, number: MSISDN? = nil, caller: CallerTerms = CallerTerms()
    ) {
        self.name = name
        self.network = network
        self.number = number
        self.caller = caller
    }
}

extension SignInConfiguration {
    /// The name under which ``providers`` has what a name in paths stands for: the operator, for a provider with
    /// operators; otherwise the name itself.
    /// - Throws: `operator_unknown` if no operator fits; `invalid_request` if several could be meant.
    func key(ofProvider name: String, for choice: OperatorChoice) throws(SignInError) -> String {
        let operators = providers.values.compactMap(\.mobileOperator).filter { $0.provider == name }
        guard !operators.isEmpty else { return name }
        guard choice.name != nil || choice.network != nil else {
            guard let only = operators.first, operators.count == 1 else { throw .operatorNotNamed }
            return only.key
        }
        let found = operators.first { candidate in
            (choice.name.map { candidate.name.hasSameBytes(as: $0) } ?? true)
                && (choice.network.map(candidate.networks.contains) ?? true)
        }
        guard let found else { throw .operatorUnknown }
        return found.key
    }

    /// The provider of a call that providers with mobile operators do not have.
    /// - Parameters:
    ///   - name: In paths.
    ///   - instead: What to call at one of those.
    /// - Throws: `not_found` if no provider has the name; `invalid_request` if it has mobile operators.
    func providerWithoutOperators(_ name: String, instead: String) throws(SignInError) -> Provider {
        guard hasProvider(inPaths: name) else { throw .unknownProvider(in: self) }
        guard let provider = providers[name] else { throw .notAtOperators(instead) }
        return provider
    }

    /// The name in paths of an entry of ``providers``.
    func path(ofProvider key: String) -> String { providers[key]?.mobileOperator?.provider ?? key }

    /// The names in paths of all providers, in alphabetical order.
    var namesInPaths: [String] { Set(providers.keys.map(path(ofProvider:))).sorted() }

    /// Whether a name in paths stands for a provider.
    func hasProvider(inPaths name: String) -> Bool {
        guard let provider = providers[name] else {
            return providers.values.contains { $0.mobileOperator?.provider == name }
        }
        return provider.mobileOperator == nil
    }
}
