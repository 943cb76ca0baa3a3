public import Primitives

/// A request to a provider to authenticate a user on their own device, without a browser (CIBA Core section 7.1).
public struct BackchannelAuthenticationRequest: Sendable {
    /// Says who the user is: exactly one of three parameters.
    public enum Hint: Sendable, Hashable {
        /// A text that the provider knows the user by, such as a phone number or an e-mail address.
        case loginHint(Secret)
        /// A token about the user, whose form the provider defines.
        case loginHintToken(Secret)
        /// An ID token that the provider issued for the user.
        case idTokenHint(Secret)
    }

    /// The requested scopes, with `openid`.
    public var scopes: [String]
    public var hint: Hint
    /// The text that the user compares on both devices.
    public var bindingMessage: BindingMessage?
    /// The requested authentication contexts, the preferred one first.
    public var acrValues: [String] = []
    /// For how many seconds the request shall be valid; nil leaves it to the provider.
    public var requestedExpiry: Int64?
    /// The user's secret against unwanted prompts.
    public var userCode: Secret?
    /// The bearer token of the provider's notification: 22 to 1024 characters of RFC 6750 section 2.1, with at least
    /// 128 random bits. Required for ``BackchannelTokenDeliveryMode/ping``, nil for
    /// ``BackchannelTokenDeliveryMode/poll``.
    public var notificationToken: Secret?

    /// A request without optional parameters.
    public init(scopes: [String], hint: Hint) {
        self.scopes = scopes
        self.hint = hint
    }

    /// The parameters, besides those that authenticate the client.
    var items: [(name: String, value: String)] {
        var items = [(name: "scope", value: scopes.joined(separator: " ")), hint.item]
        for (name, value) in [
            ("client_notification_token", notificationToken?.exposed), ("binding_message", bindingMessage?.text),
            ("acr_values", acrValues.spaceSeparated),
            ("user_code", userCode?.exposed), ("requested_expiry", requestedExpiry.map(String.init)),
        ] {
            if let value { items.append((name, value)) }
        }
        return items
    }
}

extension BackchannelAuthenticationRequest.Hint {
    fileprivate var item: (name: String, value: String) {
        switch self {
        case .loginHint(let hint): ("login_hint", hint.exposed)
        case .loginHintToken(let token): ("login_hint_token", token.exposed)
        case .idTokenHint(let token): ("id_token_hint", token.exposed)
        }
    }
}

extension BackchannelAuthenticationMetadata {
    /// The key that signs an authentication request; nil if it is not signed.
    ///
    /// - Parameter setting: ``ExtensionUse/auto`` signs where the provider lists the algorithm of the client's key:
    ///   without a list, it accepts no signed requests (CIBA Core section 4).
    /// - Throws: ``OIDCError/Code/clientRefused`` if it must be signed, and there is no key, or none with an algorithm
    ///   that the provider lists.
    func signingKey(_ key: ClientKey?, _ setting: ExtensionUse) throws(OIDCError) -> ClientKey? {
        let listed = signingAlgorithms ?? []
        switch setting {
        case .never: return nil
        case .auto: return key.flatMap { listed.contains($0.algorithm) ? $0 : nil }
        case .always:
            guard let key else {
                throw OIDCError(
                    .clientRefused,
                    reason: "Authentication requests to the provider must be signed, and the client has no private key."
                )
            }
            guard listed.contains(key.algorithm) else {
                throw .notListed(
                    "\(key.algorithm.rawValue) in backchannel_authentication_request_signing_alg_values_supported")
            }
            return key
        }
    }
}

/// The text that a user compares on the device where the sign-in began and on the one that asks for approval (CIBA Core
/// section 7.1, `binding_message`): 1 to 64 letters, digits, signs and single spaces.
///
/// Control and formatting characters are refused, such as those that reverse the direction of a text: the user must
/// read on both devices what was sent.
public struct BindingMessage: Sendable, Hashable {
    public let text: String

    /// The most characters (Unicode scalars).
    public static let maximumLength = 64

    /// Nil for any other text.
    public init?(_ text: String) {
        let characters = text.unicodeScalars
        guard (1...Self.maximumLength).contains(characters.count), characters.allSatisfy(Self.isShown),
            characters.first != " ", characters.last != " ", !text.contains("  ")
        else { return nil }
        self.text = text
    }

    private static func isShown(_ character: Unicode.Scalar) -> Bool {
        switch character.properties.generalCategory {
        case .spaceSeparator: character == " "
        case .control, .format, .lineSeparator, .paragraphSeparator, .enclosingMark, .surrogate, .privateUse,
            .unassigned:
            false
        default: true
        }
    }
}
