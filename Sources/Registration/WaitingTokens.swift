import OpenIDConnect
import Primitives
import SignIn
import StorageModel

extension EncryptedOneTimeStore.Purpose {
    /// The provider's tokens that wait until a user has registered; the handle is the registration's.
    static let waitingTokens = Self("waiting tokens")
}

extension TokenVault {
    /// Stores the tokens that wait for a registration.
    /// - Parameter session: The tokens of the user's new session.
    func waiting(under handle: Secret, for clientID: String, with session: SessionTokens) -> WaitingProviderTokens {
        let (handle, open) = EncryptedOneTimeStore.opening(.waitingTokens, under: handle)
        return WaitingProviderTokens(handle: handle, purpose: EncryptedOneTimeStore.Purpose.waitingTokens.text) {
            content in
            guard let waiting = open(content).flatMap({ WaitingTokens($0) }) else { return nil }
            return (
                tokens: waiting.tokens.map { storing($0, of: waiting.provider, for: clientID) },
                idToken: waiting.idToken.flatMap { SealedIDToken($0, openedBy: session) }
            )
        }
    }
}

/// A provider's tokens whose user has not registered yet: those to store, the ID token for logout, or both.
struct WaitingTokens {
    let provider: String
    let tokens: ProviderTokens?
    let idToken: IDTokenHint?

    /// Nil if the sign-in has nothing to keep.
    init?(_ verified: VerifiedSignIn, of provider: String) {
        self.init(provider: provider, tokens: verified.tokens, idToken: verified.idToken)
    }

    private init?(provider: String, tokens: ProviderTokens?, idToken: IDTokenHint?) {
        guard tokens != nil || idToken != nil else { return nil }
        self.provider = provider
        self.tokens = tokens
        self.idToken = idToken
    }
}

/// As JSON, for the store.
extension WaitingTokens {
    var bytes: [UInt8] {
        var json = JSONObjectWriter(capacity: 512)
        json.add("provider", provider)
        tokens?.write(to: &json)
        json.add("id_token_issuer", ifPresent: idToken?.issuer)
        json.add("id_token", ifPresent: idToken?.token.exposed)
        return json.finish()
    }

    init?(_ bytes: [UInt8]) {
        guard let json = (try? JSONValue(parsing: bytes))?.object, let provider = json["provider"]?.string else {
            return nil
        }
        var idToken: IDTokenHint?
        if let issuer = json["id_token_issuer"]?.string, let token = json["id_token"]?.string {
            idToken = IDTokenHint(issuer: issuer, token: Secret(token))
        }
        self.init(provider: provider, tokens: ProviderTokens(json), idToken: idToken)
    }
}

/// Tokens that wait in a ``OneTimeRecord`` until their user has registered.
struct WaitingProviderTokens: Sendable {
    let handle: TokenHash
    let purpose: String
    /// Decrypts the record's content: the tokens to store for the user, and the ID token of the user's session, as far
    /// as they are kept. Nil if the content is invalid.
    let open: @Sendable ([UInt8]) -> (tokens: NewProviderTokens?, idToken: SealedIDToken?)?
}
