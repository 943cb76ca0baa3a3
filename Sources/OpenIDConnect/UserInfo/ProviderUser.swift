public import Primitives

/// How a provider without ID tokens (RFC 6749 alone) names the user: its user endpoint's response to an access token
/// that the provider issued to us.
public struct UserEndpoint: Sendable, Hashable {
    /// The path of a member: `id`, or `data.id` in a nested object.
    public struct Member: Sendable, Hashable {
        /// The names of the nested members, 1 to 4.
        public let path: [String]

        /// A path with dots between the names; nil unless it has 1 to 4 names of 1 to 64 bytes.
        public init?(_ text: String) {
            path = text.split(ascii: ".", omittingEmptySubsequences: false).map(String.init)
            guard (1...4).contains(path.count), path.allSatisfy({ (1...64).contains($0.utf8.count) }) else {
                return nil
            }
        }

        /// The path with dots between the names.
        public var text: String { path.joined(separator: ".") }

        func value(in object: JSONObject) -> JSONValue? {
            path.dropFirst().reduce(path.first.flatMap { object[$0] }) { value, name in value?.object?[name] }
        }
    }

    /// Where the response comes from.
    public var url: EndpointURL
    /// The member that identifies the user and is never reassigned: a text or a whole number.
    public var subject: Member
    /// Attributes under other names than userinfo's.
    public var attributes: [UserAttribute: Member] = [:]

    /// An endpoint with userinfo's attribute names.
    public init(url: EndpointURL, subject: Member) {
        self.url = url
        self.subject = subject
    }
}

/// The user that a provider without ID tokens names. Only this module can make one.
///
/// The subject is personal, so only the issuer is printed and reflected.
public struct ProviderUser: Sendable, Hashable {
    /// With ``subject``, the user's identity.
    public let issuer: String
    /// 1 to 255 visible ASCII characters.
    public let subject: String
    /// The user's attributes.
    public package(set) var attributes: UserInfo

    /// Reads the response of a user endpoint.
    /// - Throws: ``OIDCError/Code/unusableResponse`` unless it is 200 with a JSON object that has a valid subject.
    init(
        _ response: OutboundResponse, from endpoint: UserEndpoint, issuer: String, limits: OutboundLimits
    ) throws(OIDCError) {
        let object = try ProviderResponse.okObject(
            response, maximumBytes: limits.userInfoBytes,
            otherwise: "The user endpoint's response is not status 200 with a JSON object.")
        guard let subject = Self.subject(endpoint.subject.value(in: object)) else {
            throw .unusable("The user endpoint's response has no valid subject in the configured member.")
        }
        self.issuer = issuer
        self.subject = subject
        attributes = UserInfo(object, renamed: endpoint.attributes)
    }

    /// A text as in ID tokens, or a positive whole number.
    private static func subject(_ value: JSONValue?) -> String? {
        if let number = value?.integer { return number > 0 ? String(number) : nil }
        return value?.visibleText
    }
}

extension ProviderUser: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }
