import Logging
import OpenIDConnect

/// Renews carriers' and other providers' metadata and keys before their time is over, so that sign-ins find them fresh.
struct BackgroundRefresh: Sendable {
    private static let pause = Duration.seconds(5)

    let relyingParties: [RelyingParty]
    let logger: Logger

    /// Goes on until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: BackgroundRefresh.pause)
            } catch {
                return
            }
            let result = await refreshDue()
            if result.failed > 0, !Task.isCancelled {
                logger.warning(
                    "carriers' metadata or keys could not be renewed; what is known serves on",
                    metadata: ["failed": "\(result.failed)", "renewed": "\(result.renewed)"])
            }
        }
    }

    /// All at the same time, so that none waits for another's that hangs.
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
