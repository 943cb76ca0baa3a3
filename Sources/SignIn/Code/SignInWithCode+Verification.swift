import OpenIDConnect
import Primitives

extension SignInWithCode {
    /// Whom a code is of, without signing anybody in. The very same request sent again within the retry window is answered
    /// from memory: a code is posted once.
    func verifyOnce(
        _ attempt: SignInAtCarrier, _ fingerprint: IdempotencyKey, _ log: inout SignInLog
    ) async throws(SignInError) -> VerifiedSignIn {
        switch await recentSignIns.begin(fingerprint, at: clock.now()) {
        case .lead(let nonceWasTaken):
            do throws(SignInError) {
                let verified = try await verify(attempt, fingerprint, nonceWasTaken: nonceWasTaken, &log)
                recentSignIns.end(fingerprint, .result(.verified(verified, isUnknown: false)), at: clock.now())
                return verified
            } catch {
                recentSignIns.end(fingerprint, ending(of: error), at: clock.now())
                throw error
            }
        case .done(.verified(let verified, _)):
            log.foundEarlierOne()
            return verified
        case .done(.refused(let error)), .failed(let error):
            log.foundEarlierOne()
            throw error
        case .done(.signedIn): throw .internalFault
        }
    }

    /// What to remember of a verification that failed.
    func ending(of error: SignInError) -> RecentSignIns.Ending {
        error.codeMayBeSpent ? .result(.refused(error)) : Task.isCancelled ? .abandoned : .failed(error)
    }
}
