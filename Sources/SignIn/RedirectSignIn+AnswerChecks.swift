import OpenIDConnect
import Primitives
import Storage

/// What holds an answer to the sign-in that it is for.
extension RedirectSignIn {
    /// The attempt that an answer belongs to, spent by asking.
    func attempt(for answer: RedirectAnswer, _ browser: Secret?) async throws(SignInError) -> RedirectAttempt {
        guard let state = answer.state, let bytes = try await notes.take(.redirectAttempt, under: state),
            let attempt = RedirectAttempt(bytes), attempt.provider.hasSameBytes(as: answer.provider)
        else { throw .attemptUnknown }
        if let hash = attempt.browserHash {
            // Somebody else's sign-in brought into this browser would sign its user in as somebody else.
            guard let browser, Self.hash(browser).hasSameBytes(as: hash) else { throw .otherBrowser }
        }
        return attempt
    }

    /// A code that another sign-in brought before goes nowhere: whoever it was sent to by a mix-up must not bring it back in
    /// a sign-in of their own, whose verifier and nonce may fit (RFC 9700 section 4.4).
    func keepForThisSignIn(_ code: Secret, of attempt: RedirectAttempt) async throws(SignInError) {
        let hash = try TokenHash(sha256Of: "code of \(attempt.provider)\n\(code.exposed)")
        guard try await notes.begin(hash, for: .answeredCode, seconds: Self.lifetime) else {
            throw .codeOfAnotherSignIn
        }
    }

    /// An answer that names its issuer or its carrier must name the one that was asked, and one of a provider that says that
    /// it always names its issuer must (RFC 9207 section 2.4).
    func checkIssuer(
        _ answer: RedirectAnswer, _ network: MCCMNC?, _ attempt: RedirectAttempt
    ) async throws(SignInError) {
        guard let relyingParty = relyingParties[attempt.provider] else { throw .unknownProvider }
        let carrier: ProviderMetadata
        do throws(OIDCError) {
            carrier = try await relyingParty.provider(
                for: network, clientID: attempt.clientID, correlationID: attempt.correlationID)
        } catch {
            throw SignInError(error)
        }
        try await checkNetwork(answer, network, carrier, relyingParty, attempt)
        guard let issuer = answer.issuer else {
            guard carrier.namesIssuerInResponses else { return }
            throw .issuerNotNamed
        }
        guard carrier.issuer.hasSameBytes(as: issuer) else { throw .issuerMixedUp }
    }

    /// A carrier may have several networks: another one than was asked for is good if it is the same issuer's.
    private func checkNetwork(
        _ answer: RedirectAnswer, _ asked: MCCMNC?, _ carrier: ProviderMetadata, _ relyingParty: RelyingParty,
        _ attempt: RedirectAttempt
    ) async throws(SignInError) {
        guard let asked, let named = answer.network, named != asked else { return }
        let other: ProviderMetadata
        do throws(OIDCError) {
            other = try await relyingParty.provider(
                for: named, clientID: attempt.clientID, correlationID: attempt.correlationID)
        } catch {
            throw .issuerMixedUp
        }
        guard other.issuer.hasSameBytes(as: carrier.issuer) else { throw .issuerMixedUp }
    }
}
