import OpenIDConnect
import Primitives
import StorageModel

/// Whom the carrier vouches for, and what it tells of them.
///
/// A class, so that a table of recent sign-ins holds it in a word.
final class VerifiedSignIn: Sendable {
    let identity: Identity
    /// Port tokens of the ID token, not yet verified.
    let portTokens: [Secret]
    /// Nil if no attributes were asked for.
    let profile: Profile?
    /// The provider's tokens, where they are kept.
    let tokens: ProviderTokens?
    /// The provider's own session, if it names one.
    let providerSession: ProviderSessionMark?

    /// A validated ID token makes one, or a provider's word for the access token it gave us.
    init(_ user: ProviderUser, _ tokens: ProviderTokens? = nil) {
        self.tokens = tokens
        identity = Identity(issuer: user.issuer, subject: user.subject)
        portTokens = []
        profile = Profile(user.attributes)
        providerSession = nil
    }

    init(_ idToken: VerifiedIDToken, _ userInfo: UserInfo?, _ tokens: ProviderTokens? = nil) {
        self.tokens = tokens
        identity = Identity(issuer: idToken.issuer, subject: idToken.subject)
        portTokens = idToken.portTokens
        profile = userInfo.map { Profile($0) }
        providerSession = idToken.sessionID.map {
            ProviderSessionMark(ProviderSession(issuer: idToken.issuer, id: $0))
        }
    }
}

extension Profile {
    fileprivate init(_ info: UserInfo) {
        self.init(
            name: info.name, givenName: info.givenName, familyName: info.familyName, email: info.email,
            phoneNumber: info.phoneNumber, postalCode: info.postalCode)
    }
}
