public import Primitives

/// A port token whose signature is not checked yet: it says that a user of a former carrier has moved to another.
///
/// Its claims are read before the signature is checked, because they name the issuer that has the key. They only decide
/// whether to check the signature; ``RelyingParty/verify(_:)`` does.
///
/// The subject is personal, so only the issuer is printed and reflected.
public struct UnverifiedPortToken: Sendable {
    /// The former carrier.
    public let issuer: String
    /// The former carrier's subject of the user.
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
    init(_ text: Secret, _ requirements: Requirements) throws(PortTokenError) {
        do throws(OIDCError) {
            token = try SignedToken(
                text, maximumBytes: requirements.rules.maximumBytes,
                type: .portToken(requiresType: requirements.rules.requiresType),
                allows: SigningAlgorithm.standard.contains)
        } catch {
            throw PortTokenError(header: error)
        }
        guard token.keyID != nil else { throw PortTokenError(.keyID) }
        guard let claims = IDTokenValidator.claims(token.payload) else { throw PortTokenError(.claims) }
        // Without a type, the claims keep a token of another kind from passing as a port token (RFC 8725 section 3.12).
        guard token.type != .absent || (claims["exp"] == nil && claims["events"] == nil) else {
            throw PortTokenError(.type)
        }
        guard let text = claims["iss"]?.string, let url = EndpointURL(text, policy: requirements.metadata.urlPolicy),
            requirements.metadata.trustedHosts.contains(url.host), !url.text.utf8.contains(UInt8(ascii: "?"))
        else { throw PortTokenError(.issuer) }
        issuerURL = url
        issuer = url.text
        guard let subject = claims["sub"]?.visibleText else { throw PortTokenError(.subject, issuer: issuer) }
        self.subject = subject
        guard claims.onlyAudience?.hasSameBytes(as: requirements.clientID.text) == true else {
            throw PortTokenError(.audience, issuer: issuer)
        }
        var rules = requirements.idTokenRules
        rules.maximumAgeSeconds = requirements.rules.maximumAgeSeconds
        let context = PlainClaims(claims: claims, rules: rules, issuer: issuer, now: requirements.now)
        guard context.wasIssuedJustNow, let issuedAt = context.issuedAt else {
            throw PortTokenError(.issuedAt, issuer: issuer)
        }
        self.issuedAt = issuedAt
        // Carriers' port tokens have neither `exp` nor `nbf`. If a token has one, it counts.
        guard context.isNotExpiredIfStated else { throw PortTokenError(.expiry, issuer: issuer) }
        guard context.isValidAlready else { throw PortTokenError(.notBefore, issuer: issuer) }
    }
}

extension UnverifiedPortToken: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }
