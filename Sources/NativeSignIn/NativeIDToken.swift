import Logging
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// Verifies the ID token of a native sign-in. There was no request to the provider that could tie the token to the app,
/// so that audience, nonce, age and single use have to.
struct NativeIDToken: RequestVerifier {
    /// The authorization code that came with the token.
    let code: Secret?
    /// Those of the client.
    let rules: SignInConfiguration.NativeSignInRules
    let oneTimeStore: EncryptedOneTimeStore

    var isForOneUse: Bool { true }

    func check(_ request: SignInRequest) throws(SignInError) { try rules.check(request) }

    func verifyUser(of run: SignInRun, at provider: ProviderMetadata) async throws(SignInError) -> VerifiedSignIn {
        let request = run.request
        let idToken = try await validate(run, at: provider)
        let use = try oneTimeStore.use(of: idToken, in: run, orThrow: .nativeTokenUsed)
        let code = rules.code == .redeem && run.target.server.rules.storesTokens ? code : nil
        // First, so that a used token redeems nothing: the provider would count the request, and keep the tokens.
        if code != nil { try await oneTimeStore.spend(use) }
        let tokens = await redeem(code, of: idToken, run, at: provider)
        var userInfo = run.wantsAttributes ? run.requested(attributes(in: idToken, run)) : nil
        if let told = request.unconfirmed {
            let known = userInfo?.attributes ?? UserAttributes()
            userInfo = altered(userInfo ?? told) { $0.attributes = known.filled(with: told.attributes) }
        }
        return VerifiedSignIn(
            Identity(issuer: idToken.issuer, subject: idToken.subject), userInfo, tokens: tokens,
            providerSession: idToken.sessionID.map { ProviderSessionHash(issuer: idToken.issuer, id: $0) },
            tokenUse: code == nil ? use : nil)
    }

    /// Nothing is spent if it fails: the same token may be sent again once the provider's keys can be fetched.
    private func validate(_ run: SignInRun, at provider: ProviderMetadata) async throws(SignInError) -> VerifiedIDToken
    {
        var expectation = run.expectation(nonce: run.request.nonce, accessToken: nil)
        expectation.nativeAudiences = rules.audiences
        expectation.trustedAudiences = Set(run.client.rules.trustedAudiences)
        do throws(OIDCError) {
            return try await run.validateCode(expectation, from: provider)
        } catch {
            throw .nativeTokenInvalid(error)
        }
    }

    /// The user's attributes in the token. The configured members of a provider without ID tokens are no claims.
    private func attributes(in idToken: VerifiedIDToken, _ run: SignInRun) -> UserInfo {
        let members = run.target.hasIDTokens ? run.target.server.rules.userMembers : UserMembers()
        return idToken.attributes(members, isPartial: true)
    }

    /// The tokens to store, for the code beside the token. Nil without a code, or if it is not redeemed. A failure is
    /// logged: the user is known without them.
    private func redeem(
        _ code: Secret?, of user: VerifiedIDToken, _ run: SignInRun, at provider: ProviderMetadata
    ) async -> ProviderTokens? {
        guard let code else { return nil }
        run.begin(.token)
        do throws(OIDCError) {
            let response = try await run.relyingParty.exchange(
                code: code, redirectURI: run.client.rules.sdkRedirectURI?.text, codeVerifier: nil,
                client: run.client.credentials, provider: provider, correlationID: run.correlationID)
            guard let idToken = response.idToken else { throw .failed(.sameUser) }
            var expectation = IDTokenExpectation(clientID: run.client.id, accessToken: response.accessToken)
            expectation.signingAlgorithms = run.client.signingAlgorithms
            expectation.nativeAudiences = [run.client.id]
            let owner = try await run.validate(idToken, expectation, from: provider)
            // Otherwise a user could have the tokens of another one, whose code they found.
            guard owner.issuer.hasSameBytes(as: user.issuer), owner.subject.hasSameBytes(as: user.subject)
            else { throw .failed(.sameUser) }
            return ProviderTokens(response, owner, at: run.environment.clock.now())
        } catch {
            run.note(
                "native code not redeemed", ["reason": "\(error.code.rawValue)", "cause": "\(error.reason)"],
                at: .warning)
            return nil
        }
    }
}

extension SignInError {
    static let noNativeSignIn = SignInError(
        .unauthorizedClient, .configurationError,
        "This client has no native sign-in. The administrator must set its native_audiences.")

    static let nativeClientNotNamed = invalidRequest(
        field: "client_id", "is missing, and several clients of the provider have native sign-ins.")

    static let nativeTokenUsed = invalidGrant(
        "The ID token was used before. Get a new one, with a new nonce.")

    /// The provider vouches for nobody, or its keys are not to be had. The same request may be sent again.
    static func nativeTokenInvalid(_ error: OIDCError) -> SignInError {
        var refusal = SignInError(error, advice: "Send the same request again in a moment.")
        if error.code == .invalidIDToken, let check = error.check {
            let demand =
                check == .audience
                ? "The ID token's aud must be one of the client's native_audiences" : String(check.demand.dropLast())
            refusal = SignInError(.invalidIDToken, .unknownError, "\(demand) (\(check.rawValue)). Get a new ID token.")
                .explained(by: error)
        }
        refusal.codeMayBeSpent = false
        return refusal
    }
}
