import OpenIDConnect
import Primitives
import StorageModel

/// The user that a provider vouches for, and the attributes it gives.
///
/// A class, so that the idempotency table holds it in one word.
final class VerifiedSignIn: Sendable {
    let identity: Identity
    /// The port tokens in the ID token, not yet verified.
    let portTokens: [Secret]
    /// The user's attributes; nil if none were asked for.
    let userInfo: UserInfo?
    /// The provider's tokens; nil unless they are stored.
    let tokens: ProviderTokens?
    /// The provider's own session (`sid`), if the ID token names one.
    let providerSession: ProviderSessionHash?
    /// The ID token, if it is kept for the logout at the provider.
    let idToken: IDTokenHint?
    /// The phone number that the mobile network has proven to be the user's; nil if none did.
    let provenPhoneNumber: String?
    /// Marks the operator token as used; nil if there is none. Each use case that accepts the
    /// number must store it.
    let operatorTokenUse: OneTimeRecord?

    /// - Parameter user: From a provider without ID tokens, which says whose access token it gave us.
    init(_ user: ProviderUser, _ tokens: ProviderTokens? = nil) {
        self.tokens = tokens
        identity = Identity(issuer: user.issuer, subject: user.subject)
        portTokens = []
        userInfo = user.attributes
        providerSession = nil
        idToken = nil
        provenPhoneNumber = nil
        operatorTokenUse = nil
    }

    /// A user who was verified before, or by a mobile operator.
    init(
        _ identity: Identity, _ userInfo: UserInfo, provenPhoneNumber: String? = nil,
        operatorTokenUse: OneTimeRecord? = nil
    ) {
        self.provenPhoneNumber = provenPhoneNumber
        self.operatorTokenUse = operatorTokenUse
        self.identity = identity
        self.userInfo = userInfo
        portTokens = []
        tokens = nil
        providerSession = nil
        idToken = nil
    }

    /// - Parameter hint: The ID token in compact form, if it is kept.
    init(
        _ idToken: VerifiedIDToken, _ userInfo: UserInfo?, _ tokens: ProviderTokens? = nil, hint: IDTokenHint? = nil
    ) {
        self.tokens = tokens
        self.idToken = hint
        provenPhoneNumber = nil
        operatorTokenUse = nil
        identity = Identity(issuer: idToken.issuer, subject: idToken.subject)
        portTokens = idToken.portTokens
        self.userInfo = userInfo
        providerSession = idToken.sessionID.map {
            ProviderSessionHash(ProviderSession(issuer: idToken.issuer, id: $0))
        }
    }
}

extension UserInfo {
    /// Which of the attributes the provider verified.
    var verified: VerifiedFlags { VerifiedFlags(email: emailVerified, phoneNumber: phoneNumberVerified) }
}
