import Logging
import OpenIDConnect

/// Renews carriers' metadata and keys before their time is over, so that sign-ins find them fresh.
struct BackgroundRefresh: Sendable {
    private static let pause = Duration.seconds(5)

    let relyingParty: RelyingParty
    let logger: Logger

    /// Goes on until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: BackgroundRefresh.pause)
            } catch {
                return
            }
            let result = await relyingParty.refreshDue()
            if result.failed > 0, !Task.isCancelled {
                logger.warning(
                    "carriers' metadata or keys could not be renewed; what is known serves on",
                    metadata: ["failed": "\(result.failed)", "renewed": "\(result.renewed)"])
            }
        }
    }
}
