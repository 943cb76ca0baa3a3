import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// A nonce of the server for one ID token of the device. It prints as redacted.
public struct NativeNonce: Sendable, Hashable {
    let hidden: Hidden

    /// The nonce, as Google and Facebook take it.
    public var text: String { hidden.rawValue }

    /// The SHA-256 of the nonce in hexadecimal digits, for `ASAuthorizationAppleIDRequest.nonce`.
    public var sha256: String {
        SHA256.hash(data: Data(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// What the device or a provider's SDK gives an app that signs its user in without a browser. It prints as redacted.
public struct NativeToken: Sendable, Hashable {
    let idToken: Hidden
    let nonce: Hidden
    let authorizationCode: Hidden?
    let user: Hidden?

    /// - Parameters:
    ///   - idToken: As the system gave it, such as Apple's `identityToken`.
    ///   - nonce: The nonce that the app asked for it with.
    ///   - authorizationCode: The code beside the token, if the server redeems it.
    ///   - user: What Apple gives beside the first token, as JSON: `{"name": {"firstName", "lastName"}}`.
    public init(idToken: String, nonce: NativeNonce, authorizationCode: String? = nil, user: String? = nil) {
        self.idToken = Hidden(idToken)
        self.nonce = nonce.hidden
        self.authorizationCode = authorizationCode.map { Hidden($0) }
        self.user = user.map { Hidden($0) }
    }

    func fields(clientID: String?) -> [String: String?] {
        var fields: [String: String] = ["id_token": idToken.rawValue, "nonce": nonce.rawValue]
        fields["authorization_code"] = authorizationCode?.rawValue
        fields["user"] = user?.rawValue
        fields["client_id"] = clientID
        return fields
    }
}
