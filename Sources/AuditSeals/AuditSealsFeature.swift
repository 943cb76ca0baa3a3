package import ArgumentParser
package import LatchkeyConfiguration
package import LatchkeyService
import Logging
package import Primitives
import SignIn
import Storage
package import StorageModel
import Synchronization

/// Seals the audit log while the service runs, and once more at its end.
package final class AuditSealsFeature: Feature {
    private struct State {
        /// From ``attach(to:)`` on.
        var sealer: AuditSealer?
        /// From the start to the shutdown.
        var sealing: Task<Void, Never>?
    }

    private let store: SQLStore
    private let retention: Duration
    private let clock: WallClock
    private let logger: Logger
    private let state = Mutex(State())

    package init(_ settings: NoSettings, in context: FeatureContext) {
        store = context.store
        retention = context.configuration.auditRetention
        clock = context.clock
        logger = context.logger
    }

    package static func subcommands(of command: String) -> [any ParsableCommand.Type] {
        command == "audit" ? [VerifyAuditCommand.self, ExportAuditCommand.self] : []
    }

    package func attach(to service: LatchkeyService) {
        let sealer = AuditSealer(
            store: store, keys: service.useCases.signingKeys, retention: retention, clock: clock, logger: logger)
        state.withLock { $0.sealer = sealer }
    }

    package func start() {
        state.withLock { state in
            state.sealing = Task { [sealer = state.sealer] in await sealer?.run() }
        }
    }

    /// Seals go with their events, and an event only with its seal: the log stays whole while no server seals it.
    package func purge(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        try await store.purgeAuditSeals(
            from: now.advanced(bySeconds: -retention.components.seconds), limit: limit)
    }

    package var removesAuditEvents: Bool { true }

    package func shutdown() async {
        let (sealer, sealing) = state.withLock { ($0.sealer, $0.sealing) }
        sealing?.cancel()
        // The last seal waits for open transactions, so the periodic sealing must have ended its own.
        await sealing?.value
        await sealer?.finish()
    }
}
