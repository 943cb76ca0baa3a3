import OpenIDConnect
import Primitives
import StorageModel

/// What holds an answer to the sign-in that it is for.
extension RedirectSignIn {
    /// The sign-in that an answer belongs to, whose `state` is spent by asking.
    func takePending(for answer: AuthorizationResponse, _ browser: Secret?) async throws(SignInError) -> PendingRedirect
    {
        guard let state = answer.state, let bytes = try await notes.take(.pendingRedirect, under: state),
            let pending = PendingRedirect(bytes), pending.provider.hasSameBytes(as: answer.provider)
        else { throw .redirectUnknown }
        if let hash = pending.browserHash {
            // Somebody else's sign-in brought into this browser would sign its user in as somebody else.
            guard let browser, Self.hash(browser).hasSameBytes(as: hash) else { throw .otherBrowser }
        }
        return pending
    }

    /// A code that another sign-in brought before goes nowhere: whoever it was sent to by a mix-up must not bring it back in
    /// a sign-in of their own, whose verifier and nonce may fit (RFC 9700 section 4.4).
    func keepForThisSignIn(_ code: Secret, of pending: PendingRedirect) async throws(SignInError) {
        let hash = try TokenHash(sha256Of: "code of \(pending.provider)\n\(code.exposed)")
        guard try await notes.begin(hash, for: .answeredCode, seconds: Self.lifetime) else {
            throw .codeOfAnotherSignIn
        }
    }

    /// An answer that names its issuer or its carrier must name the one that was asked, and one of a provider that says that
    /// it always names its issuer must (RFC 9207 section 2.4).
    func checkIssuer(
        _ answer: AuthorizationResponse, _ network: MCCMNC?, _ pending: PendingRedirect
    ) async throws(SignInError) {
        guard let relyingParty = relyingParties[pending.provider] else { throw .unknownProvider }
        let carrier: ProviderMetadata
        do throws(OIDCError) {
            carrier = try await relyingParty.provider(
                for: network, clientID: pending.clientID, correlationID: pending.correlationID)
        } catch {
            throw SignInError(error)
        }
        try await checkNetwork(answer, network, carrier, relyingParty, pending)
        guard let issuer = answer.issuer else {
            guard carrier.namesIssuerInResponses else { return }
            throw .issuerNotNamed
        }
        guard carrier.issuer.hasSameBytes(as: issuer) else { throw .issuerMixedUp }
    }

    /// A carrier may have several networks: another one than was asked for is good if it is the same issuer's.
    private func checkNetwork(
        _ answer: AuthorizationResponse, _ asked: MCCMNC?, _ carrier: ProviderMetadata, _ relyingParty: RelyingParty,
        _ pending: PendingRedirect
    ) async throws(SignInError) {
        guard let asked, let named = answer.network, named != asked else { return }
        let other: ProviderMetadata
        do throws(OIDCError) {
            other = try await relyingParty.provider(
                for: named, clientID: pending.clientID, correlationID: pending.correlationID)
        } catch {
            throw .issuerMixedUp
        }
        guard other.issuer.hasSameBytes(as: carrier.issuer) else { throw .issuerMixedUp }
    }
}
