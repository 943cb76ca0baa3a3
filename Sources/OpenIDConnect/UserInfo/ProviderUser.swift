import Primitives

/// Who a provider without ID tokens says that its user is. Only this module can make one.
///
/// The subject is personal: neither `print` nor interpolation nor reflection shows it.
public struct ProviderUser: Sendable, Hashable {
    /// With ``subject``, the user's identity.
    public let issuer: String
    /// 1 to 255 visible ASCII characters.
    public let subject: String
    public let attributes: UserInfo

    /// Reads the answer of a user endpoint.
    /// - Throws: ``OIDCError/Code/unusableResponse`` if it is not 200 with a JSON object that has a proper subject.
    init(
        _ response: OutboundResponse, from endpoint: UserEndpoint, issuer: String, limits: OutboundLimits
    ) throws(OIDCError) {
        guard response.status == 200,
            let object = ProviderResponse.object(response, maximumBytes: limits.userInfoBytes)
        else { throw Self.unusable("The user endpoint did not answer with a JSON object.") }
        guard let subject = Self.subject(endpoint.subject.value(in: object)) else {
            throw Self.unusable("The user endpoint's answer has no member that says who the user is.")
        }
        self.issuer = issuer
        self.subject = subject
        attributes = UserInfo(object, renamed: endpoint.attributes)
    }

    /// A text as ID tokens may have it, or a whole number, which is never the empty or the missing one.
    private static func subject(_ value: JSONValue?) -> String? {
        if let number = value?.integer { return number > 0 ? String(number) : nil }
        guard let text = value?.string, (1...255).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return text
    }

    private static func unusable(_ reason: String) -> OIDCError {
        OIDCError(.unusableResponse, codeMayBeSpent: true, reason: reason)
    }
}

extension UserEndpoint.Member {
    func value(in object: JSONObject) -> JSONValue? {
        path.dropFirst().reduce(path.first.flatMap { object[$0] }) { value, name in value?.object?[name] }
    }
}

extension ProviderUser: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "ProviderUser(issuer: \(issuer))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["issuer": issuer]) }
}
