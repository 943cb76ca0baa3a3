public import Primitives

/// How a provider without ID tokens (RFC 6749 alone) names the user: its user endpoint's response to an access token
/// that the provider issued to us.
public struct UserEndpoint: Sendable, Hashable {
    /// The path of a member: `id`, `data.id` in a nested object, or `data.0.id` in the first element of an array.
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

        /// A member whose name is the whole text wins: claims can have names with dots, such as URLs.
        package func value(in object: JSONObject) -> JSONValue? {
            if path.count > 1, let value = object[text] { return value }
            return path.reduce(.object(object)) { value, name in
                guard let elements = value?.array else { return value?.object?[name] }
                return Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            }
        }
    }

    /// Where the response comes from.
    public var url: EndpointURL
    /// The member that identifies the user and is never reassigned: a text or a whole number.
    public var subject: Member
    /// Returns the user's e-mail addresses, in place of that in the response; nil if there is no such endpoint.
    public var emails: EndpointURL?

    /// An endpoint.
    public init(url: EndpointURL, subject: Member) {
        self.url = url
        self.subject = subject
    }
}

/// Where a user's attributes are in ID tokens, in userinfo and in the response of a user endpoint, as far as they have
/// other names than those of OpenID Connect Core section 5.1.
public struct UserMembers: Sendable, Hashable {
    /// The members of attributes.
    public var attributes: [UserAttribute: UserEndpoint.Member] = [:]
    /// The members that say whether an attribute is verified.
    public var verified: [UserAttribute: UserEndpoint.Member] = [:]

    /// None.
    public init() {}
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
    /// Why the user's e-mail addresses could not be read, for developers; nil if they were, or were not asked for.
    public internal(set) var emailsFailure: String?

    /// Reads the response of a user endpoint.
    /// - Throws: ``OIDCError/Code/unusableResponse`` unless it is 200 with a JSON object that has a valid subject.
    init(
        _ response: OutboundResponse, from endpoint: UserEndpoint, _ members: UserMembers, issuer: String,
        limits: OutboundLimits
    ) throws(OIDCError) {
        let object = try ProviderResponse.okObject(
            response, upTo: \.userInfoBytes, of: limits,
            otherwise: "The user endpoint's response is not status 200 with a JSON object.")
        guard let subject = Self.subject(endpoint.subject.value(in: object)) else {
            throw .unusable("The user endpoint's response has no valid subject in the configured member.")
        }
        self.issuer = issuer
        self.subject = subject
        attributes = UserInfo(object, members)
    }

    /// Takes the primary e-mail address of a list in GitHub's form, `[{"email": …, "primary": …, "verified": …}]`, or
    /// in Bitbucket's, `{"values": [{"email": …, "is_primary": …, "is_confirmed": …}]}`. Without a primary one, the
    /// first verified one is taken.
    /// - Throws: ``OIDCError/Code/unusableResponse``.
    mutating func takeEmail(_ response: OutboundResponse, limits: OutboundLimits) throws(OIDCError) {
        let value = ProviderResponse.value(response, upTo: \.userInfoBytes, of: limits)
        guard response.status == 200, let elements = value?.array ?? value?.object?["values"]?.array else {
            throw .unusable("The list of e-mail addresses is not status 200 with a JSON array.")
        }
        var found: (email: String, isVerified: Bool?)?
        for element in elements.compactMap(\.object) {
            guard let email = UserInfo.text(element["email"]) else { continue }
            let isVerified = UserInfo.flag(element["verified"] ?? element["is_confirmed"])
            let isPrimary = UserInfo.flag(element["primary"] ?? element["is_primary"]) == true
            if isPrimary || (found == nil && isVerified == true) { found = (email, isVerified) }
            if isPrimary { break }
        }
        guard let found else { return }
        attributes.attributes[.email] = found.email
        attributes.verified[.email] = found.isVerified
    }

    /// A text as in ID tokens, or a positive whole number.
    private static func subject(_ value: JSONValue?) -> String? {
        if let number = value?.integer { return number > 0 ? String(number) : nil }
        return value?.visibleText
    }
}

extension ProviderUser: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }
