import OpenIDConnect
import Primitives

/// A port token whose signature is not checked yet: it says that a user of a former carrier has moved to another.
///
/// Its claims are read before the signature is checked, because they name the issuer that has the key. They only decide
/// whether to check the signature; ``PortTokenVerifier/verify(_:)`` does.
///
/// The subject is personal, so only the issuer is printed and reflected.
struct UnverifiedPortToken: Sendable {
    /// The former carrier.
    let issuer: String
    /// The former carrier's subject of the user.
    let subject: String
    let issuerURL: EndpointURL
    let issuedAt: Timestamp
    let token: SignedToken

    /// Makes every check that needs neither network nor keys.
    init(
        _ text: Secret, for clientID: ClientID, _ configuration: RelyingParty.Configuration,
        _ portTokenRules: PortTokenRules, now: Timestamp
    ) throws(PortTokenError) {
        do throws(OIDCError) {
            token = try SignedToken(
                text, maximumBytes: portTokenRules.maximumBytes,
                type: .named("port_token+jwt", orAbsent: !portTokenRules.requiresType),
                signedWith: SigningAlgorithm.standard)
        } catch {
            // All kinds of token have the checks of the header in common.
            throw PortTokenError(check: error.check.flatMap { PortTokenCheck(rawValue: $0.rawValue) } ?? .format)
        }
        guard token.keyID != nil else { throw PortTokenError(check: .keyID) }
        guard let claims = IDTokenValidator.claims(token.payload) else { throw PortTokenError(check: .claims) }
        // Without a type, the claims keep a token of another kind from passing as a port token (RFC 8725 section 3.12).
        guard token.type != .absent || (claims["exp"] == nil && claims["events"] == nil) else {
            throw PortTokenError(check: .type)
        }
        guard let text = claims["iss"]?.string, let url = EndpointURL(text, policy: configuration.urlPolicy),
            configuration.trustedHosts.contains(url.host), !url.text.utf8.contains(UInt8(ascii: "?"))
        else { throw PortTokenError(check: .issuer) }
        issuerURL = url
        issuer = url.text
        guard let subject = claims["sub"]?.visibleText else { throw PortTokenError(check: .subject, issuer: issuer) }
        self.subject = subject
        guard claims.onlyAudience?.hasSameBytes(as: clientID.text) == true else {
            throw PortTokenError(check: .audience, issuer: issuer)
        }
        var rules = configuration.idTokenRules
        rules.maximumAgeSeconds = portTokenRules.maximumAgeSeconds
        let context = PlainClaims(claims: claims, rules: rules, issuer: issuer, now: now)
        guard context.wasIssuedJustNow, let issuedAt = context.issuedAt else {
            throw PortTokenError(check: .issuedAt, issuer: issuer)
        }
        self.issuedAt = issuedAt
        // Carriers' port tokens have neither `exp` nor `nbf`. If a token has one, it counts.
        guard context.isNotExpiredIfStated else { throw PortTokenError(check: .expiry, issuer: issuer) }
        guard context.isValidAlready else { throw PortTokenError(check: .notBefore, issuer: issuer) }
    }
}

extension UnverifiedPortToken: Redacted { var shown: [Mirror.Child] { [("issuer", issuer)] } }
