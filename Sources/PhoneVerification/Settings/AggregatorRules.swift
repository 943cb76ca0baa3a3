public import OpenIDConnect
public import Primitives

/// How an aggregator of mobile networks is asked for the number of a phone.
public struct AggregatorRules: Sendable, Hashable {
    /// The APIs of aggregators that are known. The raw values are those of the configuration.
    public enum Adapter: String, Sendable, Hashable, CaseIterable {
        /// One call prepares a session, and another one takes its credential.
        case sessions
    }

    /// The members of requests and responses, by their names in the configuration.
    public enum Field: String, Sendable, Hashable, CaseIterable {
        // To prepare a session.
        case strategy, nonce, purpose, mcc, mnc, consent
        /// The SHA-256 of ``code``, in base64url.
        case codeHash = "code_hash"
        /// Where the browser of a link ends.
        case redirectURI = "redirect_uri"
        /// Of the session, in requests and responses: any JSON, which goes back as it came.
        case session
        /// The number to verify, and the number that was found.
        case phoneNumber = "phone_number"

        // A prepared session.
        /// The request for the wallet.
        case request
        case authorizationURL = "authorization_url"
        case qrCode = "qr_code"
        case expiresIn = "expires_in"

        // To end a session.
        case credential
        /// That of this server, which only it knows.
        case code
        /// That of the browser which has opened the link.
        case browserCode = "browser_code"

        // What was found.
        case verified, status
        case simSwap = "sim_swap"

        /// Where it is by default.
        private var usual: String {
            switch self {
            case .purpose: "use_case"
            case .mcc: "plmn.mcc"
            case .mnc: "plmn.mnc"
            case .consent: "consent_data"
            case .session: "session_key"
            default: rawValue
            }
        }

        fileprivate var usualPath: [String] { usual.split(ascii: ".").map(String.init) }
    }

    /// The API.
    public var adapter = Adapter.sessions
    /// The origins that credentials may be for.
    public var credentialOrigins: [String] = []
    /// The networks whose phones are asked for a credential; empty for all others.
    public var networks: Set<MCCMNC> = []
    /// The networks whose phones open a link.
    public var linkNetworks: Set<MCCMNC> = []
    /// Whether numbers are verified with a QR code.
    public var verifiesDesktops = false
    /// What the user consents to.
    public var consent: String?
    /// The members that are elsewhere than by default.
    public var fields: [Field: UserEndpoint.Member] = [:]
    /// Header fields of each request, by their names in lower case.
    public var headers: [String: Secret] = [:]
    /// What a changed SIM means, if the aggregator tells.
    public var simSwap = SIMSwapPolicy()

    /// The defaults.
    public init() {}

    /// The members of each of the two requests.
    private static let requests: [[Field]] = [
        [.strategy, .nonce, .purpose, .mcc, .mnc, .consent, .phoneNumber, .codeHash, .redirectURI],
        [.session, .phoneNumber, .credential, .code, .browserCode],
    ]

    /// Two members of one request of which one would be in the place of the other, or within it.
    var overlapping: (Field, Field)? {
        for fields in Self.requests {
            for (index, field) in fields.enumerated() {
                let other = fields[(index + 1)...].first { other in
                    zip(path(of: field), path(of: other)).allSatisfy(==)
                }
                if let other { return (field, other) }
            }
        }
        return nil
    }

    /// Where a member is: the names of nested objects.
    package func path(of field: Field) -> [String] { fields[field]?.path ?? field.usualPath }

    /// A member of a response; nil if it is absent or null.
    package func value(_ field: Field, in object: JSONObject) -> JSONValue? {
        let value = fields[field].map { $0.value(in: object) }
        return (value ?? field.usualPath.reduce(.object(object)) { $0?.object?[$1] }).flatMap { $0.isNull ? nil : $0 }
    }
}
