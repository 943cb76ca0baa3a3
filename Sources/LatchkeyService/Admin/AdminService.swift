import FoundationEssentials
package import LatchkeyAPI
package import LatchkeyConfiguration
import Logging
import Observability
import OutboundHTTP
package import Primitives
import SignIn
package import Storage
package import StorageModel

/// Looks up and repairs accounts for an administrator, in the database of a configuration. Servers may use the database
/// at the same time.
package struct AdminService: Sendable {
    package let store: SQLStore
    package let clock: WallClock

    /// Opens the database, which must exist.
    /// - Throws: ``AdministratorError`` if there is none, and ``LatchkeyStartError`` if it cannot be opened.
    package init(_ configuration: Configuration, features: FeatureList, clock: WallClock = .system) throws {
        if let path = configuration.database.url.path, !FileManager.default.fileExists(atPath: path) {
            throw AdministratorError("there is no database at \(path); set database.url or LATCHKEY_DATABASE_URL")
        }
        store = try features.openStore(configuration.database) { database throws(StorageError) in
            try database.openForCommand()
        }
        self.clock = clock
    }

    /// An event of the audit log that the administrator causes now.
    package func event(
        _ kind: AuditEvent.Kind, of user: Int64? = nil, _ details: (inout JSONObjectWriter) -> Void
    ) -> AuditEvent {
        AuditEvent(
            at: clock.now(), kind, user: user.map(UserID.init), by: .operating(Self.operatorName),
            details: AuditDetails(details))
    }

    /// The user of the operating system who runs the command.
    package static var operatorName: String {
        let name = ProcessInfo.processInfo.environment["SUDO_USER"] ?? ProcessInfo.processInfo.userName
        let plain = name.unicodeScalars.prefix(64).filter { $0.isASCII && $0.value > 0x20 && $0.value < 0x7F }
        return plain.isEmpty ? "unknown" : String(String.UnicodeScalarView(plain))
    }

    /// What an account has elsewhere, which ends with it as in the API. It keeps no account from being erased.
    package func erasing(
        _ user: Int64, _ configuration: Configuration, _ features: FeatureList
    ) async -> AccountEnding {
        do {
            // Its connections end with the command.
            let client = try LatchkeyService.makeClient(configuration.outboundHTTP)
            let endings = try await endings(of: UserID(user), configuration, features, client)
            return {
                var lines: [String] = []
                for ending in endings { lines += await ending() }
                await client.shutdown()
                return lines
            }
        } catch {
            return { ["nothing was revoked at providers: \(error)"] }
        }
    }

    private func endings(
        of user: UserID, _ configuration: Configuration, _ features: FeatureList, _ client: OutboundHTTPClient
    ) async throws -> [AccountEnding] {
        let logger = Logger(label: "latchkey") { _ in SwiftLogNoOpLogHandler() }
        let context = FeatureContext(
            configuration: configuration, store: store, metrics: MetricsRegistry(), clock: clock, uptime: .system,
            logger: logger)
        let made = try features.features.filter { $0.endsAccounts }.compactMap { try $0.make(in: context) }
        let providers = configuration.signInProviders(
            http: client, store: store, clock: clock, metrics: CarrierMetrics(), features: made, logger: logger)
        let useCases = UseCases(
            providers: providers, configuration: configuration.signIn, store: store, logger: logger, clock: clock)
        return try await (made as [any APIFeature]).erasing(user, with: useCases)
    }

    /// What a change tells, also one that was not applied.
    package func report(
        _ lines: [String], applies: Bool = true, _ members: (inout JSONObjectWriter) -> Void
    ) -> CommandReport {
        CommandReport(text: lines + (applies ? [] : ["Nothing was changed. Add --apply to apply the change."])) {
            members(&$0)
            $0.add("applied", applies)
        }
    }

    package func close() async { try? await store.close() }

    /// Runs a command, and then closes the database.
    /// - Throws: What the command throws; ``AdministratorError`` in place of a `StorageError`.
    package func perform<Value>(_ command: (AdminService) async throws -> Value) async throws -> Value {
        let result: Result<Value, any Error>
        do {
            result = .success(try await command(self))
        } catch let error as StorageError {
            result = .failure(AdministratorError("the database: \(error.reason)"))
        } catch {
            result = .failure(error)
        }
        await close()
        return try result.get()
    }
}

/// What a command tells: lines for people, and lines for programs, each of which is one JSON object.
package struct CommandReport: Sendable {
    package var text: [String]
    package var json: [String]
    /// Why the command failed all the same.
    package var failure: AdministratorError?

    package init(text: [String], json: [String]) {
        self.text = text
        self.json = json
    }

    package init(text: [String], _ members: (inout JSONObjectWriter) -> Void) {
        self.init(text: text, json: [JSONObjectWriter.text(members)])
    }
}

/// Why an administrator's command failed: the cause and the remedy.
package struct AdministratorError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Reason: Sendable, Hashable {
        /// The database, a provider or the machine.
        case failed
        /// The command line.
        case usage
        /// The configuration.
        case configuration
    }

    package let reason: Reason
    /// One line for the administrator.
    package let description: String

    package init(_ description: String) { self.init(.failed, description) }

    package init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}
