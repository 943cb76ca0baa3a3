import LatchkeyConfiguration
import OpenIDConnect
import Primitives

/// What Telco Finder says of a number.
struct FoundOperator: Sendable, Hashable {
    /// The longest `operatorId`, in bytes.
    static let maximumIDBytes = 256
    /// The longest URL in an answer, in bytes.
    static let maximumURLBytes = 2048
    /// The longest time that an answer is kept, in seconds, because numbers move between operators.
    static let maximumLifetime: Int64 = 3600

    /// The operator's id at Telco Finder (`operatorId`).
    let id: String
    /// The root of its APIs, if Telco Finder says it (`apiRoot`).
    var apiRoot: String?
    /// Where its metadata is, if Telco Finder says it (`authProviderConfiguration`).
    var metadataURL: String?
    /// How many seconds the answer may be kept (RFC 9111 section 5.2.2.1); 0 if it does not say so.
    var lifetime: Int64 = 0

    /// The lifetime by a response's Cache-Control field: none unless the field allows one.
    static func lifetime(cacheControl: String?) -> Int64 {
        var rules = CacheRules()
        (rules.minimumLifetime, rules.maximumLifetime, rules.defaultLifetime) = (0, maximumLifetime, 0)
        return rules.lifetime(cacheControl: cacheControl)
    }

    /// Whether the answer says nothing else of an operator than is known of it. It never leads to another host: what
    /// it says is compared, and not followed.
    ///
    /// - Parameters:
    ///   - issuer: The operator's issuer.
    ///   - apis: The operator's APIs.
    func agrees(issuer: EndpointURL, apis: OperatorAPIs) -> Bool {
        let metadata = Self.trimmed(issuer.text) + "/.well-known/openid-configuration"
        return apiRoot.map { Self.trimmed($0).hasSameBytes(as: Self.trimmed(apis.root.text)) } ?? true
            && metadataURL.map { $0.hasSameBytes(as: metadata) } ?? true
    }

    /// A URL without the slash at its end.
    private static func trimmed(_ url: String) -> String {
        url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}
