public import Primitives

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

extension UserEndpoint.Member {
    func value(in object: JSONObject) -> JSONValue? {
        path.dropFirst().reduce(path.first.flatMap { object[$0] }) { value, name in value?.object?[name] }
    }
}

extension ProviderUser: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }
