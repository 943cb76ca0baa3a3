package import OpenIDConnect
package import Primitives
package import StorageModel

/// A registration that its user has not completed: what the provider sent, and what is required.
package struct OpenRegistration: Sendable {
    /// The provider's issuer.
    package let issuer: String
    /// The provider's attributes that a registration stores unless the form has others.
    package let profile: Profile
    /// Which of them the provider verified.
    package let verified: VerifiedFlags
    /// The provider's further claims that a registration stores.
    package let claims: ConsentedClaims
    /// What a registration must have.
    package let required: [UserAttribute]

    package init(
        issuer: String, profile: Profile, verified: VerifiedFlags = VerifiedFlags(),
        claims: ConsentedClaims = ConsentedClaims(), required: [UserAttribute] = []
    ) {
        self.issuer = issuer
        self.profile = profile
        self.verified = verified
        self.claims = claims
        self.required = required
    }
}
