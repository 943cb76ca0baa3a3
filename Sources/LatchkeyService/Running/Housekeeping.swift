import Logging
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// Maintains the signing keys and removes expired records, once a minute and in small steps.
struct Housekeeping: Sendable {
    private static let pause = Duration.seconds(60)
    private static let rowsPerStep = 500

    let store: any Store
    let auditRetention: Duration
    let signingKeys: SigningKeys
    let sessions: Sessions
    let features: [any Feature]
    let clock: WallClock
    let logger: Logger

    /// Runs until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            await keepSigningKeys()
            do {
                try await Task.sleep(for: Housekeeping.pause)
                try await purge()
            } catch let error as StorageError {
                logger.warning("could not remove expired records", metadata: ["error": "\(error.code)"])
            } catch {
                return
            }
        }
    }

    func keepSigningKeys() async {
        do throws(SignInError) {
            try await signingKeys.maintain()
        } catch {
            logger.warning("could not maintain the signing keys", metadata: ["error": "\(error.codeText)"])
        }
    }

    func purge() async throws(StorageError) {
        await writeLastSeen()
        let now = clock.now()
        var removed = try await repeating { limit async throws(StorageError) in
            try await store.purgeExpired(at: now, limit: limit)
        }
        if !features.contains(where: { $0.removesAuditEvents }) {
            let end = now.advanced(bySeconds: -auditRetention.components.seconds)
            removed += try await repeating { limit async throws(StorageError) in
                try await store.purgeAuditEvents(from: end, limit: limit)
            }
        }
        for feature in features {
            do throws(StorageError) {
                removed += try await repeating { limit async throws(StorageError) in
                    try await feature.purge(at: now, limit: limit)
                }
            } catch {
                // The features after it have their turn.
                logger.warning(
                    "could not remove expired records",
                    metadata: ["error": "\(error.code)", "feature": "\(type(of: feature))"])
            }
        }
        if removed > 0 { logger.debug("removed expired records", metadata: ["rows": .stringConvertible(removed)]) }
    }

    /// Writes when sessions were last used; also at shutdown.
    func writeLastSeen() async {
        do throws(SignInError) {
            try await sessions.writeLastSeen()
        } catch {
            logger.warning("could not write when sessions were last used", metadata: ["error": "\(error.codeText)"])
        }
    }

    /// Repeats a step until it removes fewer rows than its limit.
    private func repeating(_ step: (_ limit: Int) async throws(StorageError) -> Int) async throws(StorageError) -> Int {
        var removed = 0
        while !Task.isCancelled {
            let count = try await step(Housekeeping.rowsPerStep)
            removed += count
            guard count >= Housekeeping.rowsPerStep else { break }
        }
        return removed
    }
}

/// Renews the metadata and keys of providers before they expire, so that sign-ins need not wait.
struct BackgroundRefresh: Sendable {
    let relyingParties: [RelyingParty]
    let logger: Logger

    /// Runs until the task is cancelled.
    func run() async {
        while (try? await Task.sleep(for: .seconds(5))) != nil {
            let result = await refreshDue()
            if result.failed > 0, !Task.isCancelled {
                logger.warning(
                    "providers' metadata or keys could not be renewed; the cached ones stay in use",
                    metadata: ["failed": "\(result.failed)", "renewed": "\(result.renewed)"])
            }
        }
    }

    /// Concurrently, so that a provider that hangs does not delay the others.
    private func refreshDue() async -> RelyingParty.Refreshed {
        await withTaskGroup(of: RelyingParty.Refreshed.self) { group in
            for relyingParty in relyingParties { group.addTask { await relyingParty.refreshDue() } }
            var all: RelyingParty.Refreshed = (0, 0)
            for await result in group {
                all.renewed += result.renewed
                all.failed += result.failed
            }
            return all
        }
    }
}
