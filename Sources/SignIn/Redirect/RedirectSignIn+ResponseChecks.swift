import OpenIDConnect
import Primitives
import StorageModel

/// What ties an authorization response to the request it is for.
extension RedirectSignIn {
    /// The sign-in that a response belongs to. Its `state` is spent by this.
    func takePending(
        for response: AuthorizationResponse, _ browser: Secret?
    ) async throws(SignInError) -> PendingRedirect {
        guard let state = response.state, let bytes = try await oneTimeStore.take(.pendingRedirect, under: state),
            let pending = PendingRedirect(bytes), pending.start.provider.hasSameBytes(as: response.provider)
        else { throw .redirectUnknown }
        if let hash = pending.browserHash {
            // Another user's response in this browser would sign its user in as the other one.
            guard let browser, Self.hash(browser).hasSameBytes(as: hash) else { throw .otherBrowser }
        }
        return pending
    }

    /// Refuses a code that another sign-in brought before. An attacker who received it in a mix-up must not use it in a
    /// sign-in of their own, whose verifier and nonce may fit (RFC 9700 section 4.4).
    func keepForThisSignIn(_ code: Secret, of pending: PendingRedirect) async throws(SignInError) {
        let hash = TokenHash(sha256Of: "code of \(pending.start.provider)\n\(code.exposed)")
        guard try await oneTimeStore.begin(hash, for: .answeredCode, seconds: Self.lifetime) else {
            throw .codeOfAnotherSignIn
        }
    }

    /// A response that names its issuer or its carrier must name the one that was asked. The issuer is required if the
    /// provider's metadata says that its responses always name it (RFC 9207 section 2.4).
    func checkIssuer(
        _ response: AuthorizationResponse, _ network: MCCMNC?, _ pending: PendingRedirect
    ) async throws(SignInError) {
        let provider = try await discover(network, for: pending)
        // A carrier may have several networks: another one is good if it has the same issuer.
        if let network, let named = response.network, named != network {
            guard let other = try? await discover(named, for: pending), other.issuer.hasSameBytes(as: provider.issuer)
            else { throw .issuerMixedUp }
        }
        guard let issuer = response.issuer else {
            guard provider.namesIssuerInResponses else { return }
            throw .issuerNotNamed
        }
        guard provider.issuer.hasSameBytes(as: issuer) else { throw .issuerMixedUp }
    }
}
