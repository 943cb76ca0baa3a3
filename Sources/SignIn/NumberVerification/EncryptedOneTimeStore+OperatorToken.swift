import Primitives
import StorageModel

/// An operator token is used once, for a sign-in or a verification, also if the operator takes it again. It is bound to
/// no app: an attacker who finds a token could use it.
extension EncryptedOneTimeStore {
    /// The record that marks an operator token as used.
    /// - Parameter key: ``ProviderReference/text`` of the operator.
    func use(ofOperatorToken token: Secret, at key: String) -> OneTimeRecord {
        record(
            TokenHash(sha256Of: "operator token of \(key)\n\(token.exposed)"), for: .answeredCode,
            seconds: RedirectSignIn.lifetime)
    }

    /// Marks an operator token as used.
    /// - Throws: `invalid_grant` if it was used before.
    func spend(_ use: OneTimeRecord) async throws(SignInError) {
        guard try await stored(await store.addOneTimeRecord(use, insteadOf: [])) else { throw .operatorTokenUsed }
    }
}
