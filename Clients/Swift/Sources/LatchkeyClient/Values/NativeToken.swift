public import Foundation

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

/// What the device or a provider's SDK gives an app that signs its user in without a browser.
public struct NativeToken: Sendable, Hashable {
    let idToken: Hidden
    let nonce: Hidden
    let authorizationCode: Hidden?
    let name: PersonNameComponents?

    /// - Parameters:
    ///   - idToken: As the system gave it, such as Apple's `identityToken`.
    ///   - nonce: The nonce that the app asked for it with.
    ///   - authorizationCode: The code beside the token, if the server redeems it.
    ///   - name: Apple's `fullName`, which comes beside the user's first token only.
    public init(
        idToken: String, nonce: NativeNonce, authorizationCode: String? = nil, name: PersonNameComponents? = nil
    ) {
        self.idToken = Hidden(idToken)
        self.nonce = nonce.hidden
        self.authorizationCode = authorizationCode.map { Hidden($0) }
        self.name = name
    }

    func fields(clientID: String?) -> [String: String?] {
        var fields: [String: String] = ["id_token": idToken.rawValue, "nonce": nonce.rawValue]
        fields["authorization_code"] = authorizationCode?.rawValue
        fields["user"] = name.flatMap(Self.user)
        fields["client_id"] = clientID
        return fields
    }

    /// The name in Apple's form.
    private static func user(_ name: PersonNameComponents) -> String? {
        var names: [String: String] = [:]
        names["firstName"] = name.givenName
        names["lastName"] = name.familyName
        return (try? JSONEncoder().encode(["name": names])).map { String(decoding: $0, as: UTF8.self) }
    }
}

extension NativeToken: CustomStringConvertible, CustomReflectable {
    /// Without values.
    public var description: String { "NativeToken" }
    /// Empty, so that `dump` shows no name.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
