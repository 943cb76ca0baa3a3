import OpenIDConnect
import Primitives

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
