package import Primitives

/// That a provider verified a user's e-mail address or phone number.
package struct Verification: Sendable, Hashable {
    /// When the present value was first stored as verified.
    package let time: Timestamp
    /// The provider that vouches for it.
    package let issuer: String

    package init(at time: Timestamp, by issuer: String) {
        self.time = time
        self.issuer = issuer
    }
}

/// Gives a user the claims of a sign-in.
/// - Parameters:
///   - publicID: The user's.
///   - earlier: The user's claims, as they are stored.
/// - Returns: The claims to store: `earlier` itself if nothing changed.
package typealias ClaimsUpdate = @Sendable (_ publicID: String, _ earlier: String?) -> String?

/// What providers tell of a user besides the profile, and what they vouch for of the present profile.
///
/// A class, so that a copy of a user costs one reference.
package final class ProviderAssertions: Sendable, Hashable {
    package let email: Verification?
    package let phoneNumber: Verification?
    /// The further claims that the user consented to share, encrypted by the use case.
    package let claims: String?

    /// Nil if there is nothing.
    package init?(email: Verification?, phoneNumber: Verification?, claims: String? = nil) {
        guard email != nil || phoneNumber != nil || claims != nil else { return nil }
        self.email = email
        self.phoneNumber = phoneNumber
        self.claims = claims
    }

    package static func == (one: ProviderAssertions, other: ProviderAssertions) -> Bool {
        one === other
            || one.email == other.email && one.phoneNumber == other.phoneNumber && one.claims == other.claims
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(email)
        hasher.combine(phoneNumber)
        hasher.combine(claims)
    }
}

/// Whether a provider says that it verified the e-mail address and the phone number that it tells; nil if it does not
/// say (`email_verified`, `phone_number_verified`: OpenID Connect Core section 5.1).
package typealias VerifiedFlags = UserAttributes<Bool>
