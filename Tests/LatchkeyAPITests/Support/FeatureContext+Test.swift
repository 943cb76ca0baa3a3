import LatchkeyConfiguration
import Logging
import Observability
import Primitives
import Storage

@testable import LatchkeyService

extension FeatureContext {
    /// What a feature of a test is made of.
    static func test(
        _ store: SQLStore, clock: WallClock = .system, uptime: Uptime = .system,
        _ change: (inout Configuration) -> Void = { _ in }
    ) -> FeatureContext {
        var configuration = Configuration()
        change(&configuration)
        return FeatureContext(
            configuration: configuration, store: store, metrics: MetricsRegistry(), clock: clock, uptime: uptime,
            logger: Logger(label: "test"))
    }
}
