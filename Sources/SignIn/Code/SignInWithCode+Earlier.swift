import Primitives

/// The very same sign-in done before, where this process does not remember it.
extension SignInWithCode {
    /// Looks for a sign-in before this process does it: its code is not to be posted twice. Where it was done, it has come
    /// to its end here, too.
    /// - Throws: `temporarily_unavailable`; nothing was posted then.
    func findEarlier(
        _ attempt: SignInAtCarrier, _ fingerprint: IdempotencyKey, _ log: inout SignInLog
    ) async throws(SignInError) -> RecentSignIns.Result? {
        // What a redirect brings back is taken once.
        guard earlierSignIns.areLikely, !attempt.request.wasStartedHere else { return nil }
        log.begin(.recall)
        do throws(SignInError) {
            guard let (session, since) = try await earlierSignIns.find(fingerprint) else { return nil }
            log.foundEarlierOne()
            return recentSignIns.end(fingerprint, with: session, since: since, at: clock.now())
        } catch {
            recentSignIns.end(fingerprint, ending(of: error), at: clock.now())
            throw error
        }
    }

    /// Looks for a sign-in once more, after it failed here because something of it was used up: another copy may have done
    /// it meanwhile, for an app that sent it twice. It has come to its end here, in any case.
    /// - Throws: The failure, if there is no other; `temporarily_unavailable` if that cannot be told, and the same sent
    ///   again is looked for again.
    func findEarlier(
        _ fingerprint: IdempotencyKey, after failure: SignInError, _ log: inout SignInLog
    ) async throws(SignInError) -> RecentSignIns.Result {
        var reason = failure
        if failure.codeMayBeSpent || failure == .nonceNotIssued {
            log.begin(.recall)
            do throws(SignInError) {
                if let (session, since) = try await earlierSignIns.find(fingerprint) {
                    log.foundEarlierOne()
                    return recentSignIns.end(fingerprint, with: session, since: since, at: clock.now())
                }
            } catch {
                reason = error
            }
        }
        recentSignIns.end(fingerprint, ending(of: failure), at: clock.now())
        throw reason
    }

    /// Looks for a sign-in that was refused here because its code was spent: the copy that spent it may have been at it
    /// still.
    func findEarlier(
        _ fingerprint: IdempotencyKey, refused failure: SignInError, _ log: inout SignInLog
    ) async throws(SignInError) -> RecentSignIns.Result {
        guard failure.codeMayBeSpent, earlierSignIns.areLikely else { throw failure }
        log.begin(.recall)
        guard let (session, since) = try await earlierSignIns.find(fingerprint) else { throw failure }
        return recentSignIns.end(fingerprint, with: session, since: since, at: clock.now())
    }
}
