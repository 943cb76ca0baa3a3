import Primitives

/// A port token whose signature nobody has looked at yet: it says that a user of a former carrier has gone to another.
///
/// Its claims are read before the signature, because they name the issuer that has the key. They are good for nothing
/// but to decide whether a signature is worth asking for; ``RelyingParty/verify(_:)`` tells whether it
/// holds.
///
/// The subject is personal: neither `print` nor interpolation nor reflection shows it.
public struct UnverifiedPortToken: Sendable {
    /// The former carrier.
    public let issuer: String
    /// Whom it knew the user as.
    public let subject: String
    let issuerURL: EndpointURL
    let issuedAt: Timestamp
    let token: SignedToken

    struct Requirements: Sendable {
        let rules: PortTokenRules
        let idTokenRules: IDTokenRules
        let metadata: ProviderMetadata.Requirements
        let clientID: ClientID
        let now: Timestamp
    }

    /// Makes every check that needs neither network nor keys.
    init(_ text: Secret, _ requirements: Requirements) throws(PortTokenRefusal) {
        do throws(OIDCError) {
            token = try SignedToken(
                text, maximumBytes: requirements.rules.maximumBytes, type: .portToken,
                allows: requirements.idTokenRules.algorithms.contains)
        } catch {
            throw PortTokenRefusal(header: error)
        }
        guard token.keyID != nil else { throw PortTokenRefusal(.keyID) }
        guard let claims = (try? JSONValue(parsing: token.payload))?.object else { throw PortTokenRefusal(.claims) }
        issuerURL = try Self.issuer(claims, requirements.metadata)
        issuer = issuerURL.text
        subject = try Self.subject(claims, issuer)
        try Self.checkAudience(claims, requirements.clientID, issuer)
        issuedAt = try Self.issuedAt(claims, requirements, issuer)
        try Self.checkValidity(claims, requirements, issuer)
    }

    private static func issuer(
        _ claims: JSONObject, _ requirements: ProviderMetadata.Requirements
    ) throws(PortTokenRefusal) -> EndpointURL {
        guard let text = claims["iss"]?.string, let url = EndpointURL(text, policy: requirements.urlPolicy),
            requirements.trustedHosts.contains(url.host), !url.text.utf8.contains(UInt8(ascii: "?"))
        else { throw PortTokenRefusal(.issuer) }
        return url
    }

    private static func subject(_ claims: JSONObject, _ issuer: String) throws(PortTokenRefusal) -> String {
        guard let subject = claims["sub"]?.string, (1...255).contains(subject.utf8.count),
            subject.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw PortTokenRefusal(.subject, issuer: issuer) }
        return subject
    }

    private static func checkAudience(
        _ claims: JSONObject, _ clientID: ClientID, _ issuer: String
    ) throws(PortTokenRefusal) {
        var audience = claims["aud"]
        if case .array(let several) = audience { audience = several.count == 1 ? several.first : nil }
        guard let named = audience?.string, named.hasSameBytes(as: clientID.text) else {
            throw PortTokenRefusal(.audience, issuer: issuer)
        }
    }

    private static func issuedAt(
        _ claims: JSONObject, _ requirements: Requirements, _ issuer: String
    ) throws(PortTokenRefusal) -> Timestamp {
        let skew = requirements.idTokenRules.clockSkewSeconds
        let now = requirements.now
        guard let issued = ClaimValidationContext.numericDate(claims["iat"]), issued <= now.advanced(bySeconds: skew),
            issued >= now.advanced(bySeconds: -skew).advanced(bySeconds: -requirements.rules.maximumAgeSeconds)
        else { throw PortTokenRefusal(.issuedAt, issuer: issuer) }
        return issued
    }

    /// Carriers' port tokens have neither `exp` nor `nbf`; one that has is held to it.
    private static func checkValidity(
        _ claims: JSONObject, _ requirements: Requirements, _ issuer: String
    ) throws(PortTokenRefusal) {
        let skew = requirements.idTokenRules.clockSkewSeconds
        if let claim = claims["exp"] {
            guard let end = ClaimValidationContext.numericDate(claim), requirements.now < end.advanced(bySeconds: skew)
            else {
                throw PortTokenRefusal(.expiry, issuer: issuer)
            }
        }
        if let claim = claims["nbf"] {
            guard let start = ClaimValidationContext.numericDate(claim),
                start <= requirements.now.advanced(bySeconds: skew)
            else {
                throw PortTokenRefusal(.notBefore, issuer: issuer)
            }
        }
    }
}

extension UnverifiedPortToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "UnverifiedPortToken(issuer: \(issuer))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["issuer": issuer]) }
}
