public import Primitives

/// The ID token of a sign-in, as far as an ID token that comes with a refresh is compared with it (OpenID Connect Core
/// section 12.2).
///
/// The subject is personal, so only the issuer is printed and reflected.
public struct OriginalIDToken: Sendable, Hashable {
    /// The issuer (`iss`).
    public let issuer: String
    /// The user at the issuer (`sub`).
    public let subject: String
    /// The further claims; nil if they are not known.
    public let claims: Claims?

    /// The claims besides the identity.
    public struct Claims: Sendable, Hashable {
        /// When the user authenticated (`auth_time`); nil if the token did not say so.
        public let authTime: Timestamp?
        /// The nonce of the sign-in (`nonce`); nil if the token had none.
        public let nonce: String?
        /// The authorized party (`azp`); nil if the token named none.
        public let authorizedParty: String?

        /// The claims of a token.
        public init(authTime: Timestamp?, nonce: String?, authorizedParty: String?) {
            self.authTime = authTime
            self.nonce = nonce
            self.authorizedParty = authorizedParty
        }
    }

    /// The ID token of an identity.
    public init(issuer: String, subject: String, claims: Claims?) {
        self.issuer = issuer
        self.subject = subject
        self.claims = claims
    }
}

extension OriginalIDToken: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }

extension OriginalIDToken.Claims: Redacted {}

extension VerifiedIDToken {
    /// What an ID token of a later refresh is compared with, besides issuer and subject.
    public var claimsForRefresh: OriginalIDToken.Claims {
        OriginalIDToken.Claims(
            authTime: authTime, nonce: claims["nonce"]?.string, authorizedParty: claims["azp"]?.string)
    }
}
