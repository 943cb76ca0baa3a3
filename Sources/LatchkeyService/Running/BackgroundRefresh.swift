import Logging
import OpenIDConnect

/// Renews the metadata and keys of carriers and providers before they expire, so that sign-ins need not wait.
struct BackgroundRefresh: Sendable {
    let relyingParties: [RelyingParty]
    let logger: Logger

    /// Runs until the task is cancelled.
    func run() async {
        while (try? await Task.sleep(for: .seconds(5))) != nil {
            let result = await refreshDue()
            if result.failed > 0, !Task.isCancelled {
                logger.warning(
                    "carriers' metadata or keys could not be renewed; the cached ones stay in use",
                    metadata: ["failed": "\(result.failed)", "renewed": "\(result.renewed)"])
            }
        }
    }

    /// Concurrently, so that a carrier that hangs does not delay the others.
    private func refreshDue() async -> RelyingParty.Refreshed {
        await withTaskGroup(of: RelyingParty.Refreshed.self) { group in
            for relyingParty in relyingParties { group.addTask { await relyingParty.refreshDue() } }
            var all = RelyingParty.Refreshed()
            for await result in group {
                all.renewed += result.renewed
                all.failed += result.failed
            }
            return all
        }
    }
}
