public import OpenIDConnect
public import Primitives
public import SignIn

/// One mobile operator of a provider of verified phone numbers: itself an OpenID provider, with the APIs of CAMARA.
public struct MobileOperatorSettings: Sendable, Hashable {
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
    /// How its customers' phones are asked for a digital credential; nil if they are not.
    public var credentials: CredentialRequestRules?

    /// An operator without a check of the SIM.
    public init(name: String, networks: Set<MCCMNC>, apis: OperatorAPIs, purpose: Purpose) {
        self.name = name
        finderID = name
        self.networks = networks
        self.apis = apis
        self.purpose = purpose
    }

    /// The scopes of a sign-in: exactly one purpose.
    public var scopes: [String] { ["openid"] + scopes(for: .devicePhoneNumber) }

    /// The scopes of an access token for one operation, with the purpose.
    package func scopes(for operation: OperatorScope) -> [String] {
        switch apis.deployment.scopeForm {
        case .separate: [purpose.scope, operation.rawValue]
        case .combined: ["\(purpose.scope)#\(operation.rawValue)"]
        case .combinedV0: ["\(purpose.scope)#\(operation.nameInV0)"]
        case .purpose: [purpose.scope]
        }
    }
}

/// How this server asks phones for a digital credential that a mobile operator redeems.
public struct CredentialRequestRules: Sendable, Hashable {
    /// The origins that credentials may be for.
    public var origins: [String]
    /// The key that signs requests, with its certificate. It is not for TLS.
    public var signer: ClientTLS
    /// The operator's key that credentials are encrypted for: a public JSON Web Key.
    public var encryptionKey: String
    /// What the user consents to.
    public var consent: String?

    /// Requests without a consent.
    public init(origins: [String], signer: ClientTLS, encryptionKey: String) {
        self.origins = origins
        self.signer = signer
        self.encryptionKey = encryptionKey
    }
}

/// The CAMARA APIs of one mobile operator, below its `apiRoot`.
public struct OperatorAPIs: Sendable, Hashable {
    /// The URL that the paths of the APIs follow, without a query.
    public let root: EndpointURL
    /// How they differ from their published definitions.
    public var deployment = OperatorDeployment()

    /// The APIs below a root; nil if the root has a query.
    public init?(root: EndpointURL) {
        guard !root.text.utf8.contains(UInt8(ascii: "?")) else { return nil }
        self.root = root
    }
}

/// The scopes of the APIs' operations.
package enum OperatorScope: String, Sendable {
    /// Of `GET /device-phone-number`.
    case devicePhoneNumber = "number-verification:device-phone-number:read"
    /// Of `POST /verify`.
    case verify = "number-verification:verify"
    /// Of `POST /check` of SIM Swap.
    case checkSIMSwap = "sim-swap:check"

    /// The name in the first releases, which their version 0 has.
    fileprivate var nameInV0: String {
        switch self {
        case .devicePhoneNumber: "number-verification-share-read"
        case .verify: "number-verification-verify-read"
        case .checkSIMSwap: "check-sim-swap"
        }
    }
}

/// How an operator, or an aggregator of operators, deploys the APIs. By default as the published definitions say.
public struct OperatorDeployment: Sendable, Hashable {
    /// How scopes say the purpose. The raw values are those of the configuration.
    public enum ScopeForm: String, Sendable, Hashable, CaseIterable {
        /// A scope is the purpose, and another one the operation.
        case separate
        /// One scope is both.
        case combined
        /// As ``combined``, with the operation's name in version 0.
        case combinedV0 = "combined-v0"
        /// The purpose alone.
        case purpose
    }

    /// The version of Number Verification in its path.
    public var numberVerification = "v2"
    /// The version of SIM Swap in its path.
    public var simSwap = "v2"
    /// What is before the APIs' paths, such as `/aggregator/v031`; empty for nothing.
    public var prefix = ""
    /// Header fields of requests to the APIs, such as a key, by their names in lower case.
    public var headers: [String: Secret] = [:]
    /// What is before a TS.43 temporary token where it names the user.
    public var operatorTokenPrefix = "operatortoken:"
    /// How scopes say the purpose.
    public var scopeForm = ScopeForm.separate

    /// As the published definitions say.
    public init() {}
}

/// Why an API of an operator is called: a purpose of the W3C Data Privacy Vocabulary, as one of the scopes (CAMARA
/// Security and Interoperability Profile r4.2, section "Purpose as a scope").
///
/// A request has exactly one, so a configuration has one for each provider, and apps give none.
public struct Purpose: Sendable, Hashable {
    /// `dpv:` and the name of the purpose.
    public let scope: String

    /// The prefix of all purposes.
    public static let prefix = "dpv:"

    /// A purpose, or nil unless the text is `dpv:` and 1 to 60 letters and digits that begin with a letter.
    public init?(_ text: String) {
        let name = text.dropFirst(Self.prefix.count).utf8
        guard text.hasPrefix(Self.prefix), (1...60).contains(name.count), name.allSatisfy(\.isASCIILetterOrDigit),
            let first = name.first, first.isASCIILetter
        else { return nil }
        scope = text
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

/// Whom numbers sign in besides the accounts that have added them as an identity, at a provider that tells no subject
/// but the number.
public struct NumberSignInRules: Sendable, Hashable {
    /// Whether a number that no account has registers, as the registration of unknown users says.
    public var registersUnknown = false
    /// Whether a number signs in to the account that has verified it in another way.
    public var signsInKnown = false

    /// Nobody.
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

    /// A client at Telco Finder.
    public init(issuer: EndpointURL, finder: TelcoFinder, client: SignInConfiguration.Client) {
        self.issuer = issuer
        self.finder = finder
        self.client = client
    }
}

/// GSMA's Telco Finder, which knows the mobile operator of a phone number (GSMA Open Gateway, "Routing / Telco
/// Finder").
public struct TelcoFinder: Sendable, Hashable {
    /// How far a search goes where numbers move between operators. The raw value is its name in the configuration.
    public enum PortabilitySearch: String, Sendable, Hashable, CaseIterable {
        /// In the Telco Finder's own records, which may be old, at less cost.
        case shallow
        /// In all systems of the country.
        case deep
    }

    /// Where its API is.
    public var apis: OperatorAPIs
    /// Whether it is asked by the address of a phone that names nothing else.
    public var findsByAddress = false
    /// How far searches go.
    public var portabilitySearch = PortabilitySearch.deep
    /// The scopes of its access tokens; by default as the description has it.
    public var scopes = ["telcofinder"]

    /// The Telco Finder below an API root; nil if the root has a query.
    public init?(root: EndpointURL) {
        guard let apis = OperatorAPIs(root: root) else { return nil }
        self.apis = apis
    }
}

extension ProviderReference {
    /// The name of a provider's Telco Finder. No operator has it.
    package static let telcoFinderName = "telco_finder"

    /// The Telco Finder of a provider of verified phone numbers.
    package static func telcoFinder(of provider: String) -> ProviderReference {
        ProviderReference(provider: provider, operatorName: telcoFinderName)
    }
}
