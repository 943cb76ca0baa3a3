import OpenIDConnect
import Primitives
import Storage

/// Whom the carrier vouches for, and what it tells of them.
///
/// A class, so that a table of recent sign-ins holds it in a word.
final class VerifiedSignIn: Sendable {
    let identity: Identity
    /// Port tokens of the ID token, not yet verified.
    let portTokens: [Secret]
    /// Nil if no attributes were asked for.
    let profile: Profile?

    /// Only a validated ID token makes one.
    init(_ idToken: VerifiedIDToken, _ userInfo: UserInfo?) {
        identity = Identity(issuer: idToken.issuer, subject: idToken.subject)
        portTokens = idToken.portTokens
        profile = userInfo.map { info in
            Profile(
                name: info.name, givenName: info.givenName, familyName: info.familyName, email: info.email,
                phoneNumber: info.phoneNumber, postalCode: info.postalCode)
        }
    }
}
