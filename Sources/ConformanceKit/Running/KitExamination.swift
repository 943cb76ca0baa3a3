import CarrierSimulator
import FoundationEssentials
import Glibc
import HTTPServer
package import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
package import Primitives
import SignIn

/// Examines what a configuration accepts and refuses of one provider.
package enum KitExamination {
    /// Runs the cases, each on its own server with its own database in a temporary folder, which is removed.
    ///
    /// Neither the configured database nor any address but the simulator's is touched.
    /// - Parameters:
    ///   - provider: Its name in paths; `zenkey` for the carriers.
    ///   - client: The client id; nil for the provider's first.
    ///   - features: What sends browsers to providers; without it no sign-in by redirects is examined.
    ///   - clock: For the time of the report.
    /// - Throws: ``KitError``.
    package static func run(
        _ configuration: Configuration, provider: String, client: String? = nil, features: FeatureList,
        cases: [KitCase] = KitCases.all, clock: WallClock = .system
    ) async throws -> KitReport {
        let time = clock.now()
        let target = try KitTarget(configuration, provider: provider, client: client, features)
        let simulator = CarrierSimulator(
            carriers: [target.carrier(of: KitCases.baseline[0])], clients: [target.registration()])
        let folder = try scratchFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let running: CarrierSimulator.Running
        do {
            running = try simulator.start()
        } catch {
            throw KitError(.failed, "the simulator cannot start: \(error)")
        }
        let result = await Result {
            try await report(target, simulator, port: running.addresses.first?.port ?? 0, folder, cases, at: time)
        }
        await running.shutdown()
        return try result.get()
    }

    private static func report(
        _ target: KitTarget, _ simulator: CarrierSimulator, port: UInt16, _ folder: String, _ cases: [KitCase],
        at time: Timestamp
    ) async throws -> KitReport {
        var results: [KitReport.Row] = []
        let refusals = Counts(0)
        for (number, row) in cases.enumerated() {
            if let reason = row.excludedBy(target.settings) {
                results.append(.init(row: row, outcome: .notRun(reason)))
                continue
            }
            simulator.add(target.carrier(of: row))
            var configuration = try target.configuration(simulator, database: "\(folder)/\(number).db")
            configuration[SimulatorOnly.Settings.self] = .init(port: port, refusals: refusals)
            let service = try LatchkeyService(
                configuration: configuration, features: target.settings.features.adding(SimulatorOnly.self))
            let browser = KitBrowser(target: target, simulator: simulator, server: service.handler)
            let observation = await Result { try await KitRun(row: row, browser: browser).observe() }
            await service.shutdown(within: .zero)
            let seen = try observation.get()
            guard row.area != .baseline || seen.isAccepted else {
                throw KitError(
                    .failed,
                    "a correct sign-in fails with this configuration, so refusals say nothing: "
                        + KitReport.text(of: seen))
            }
            results.append(.init(row: row, outcome: .observed(seen, row.loosenedBy(target.settings))))
        }
        return KitReport(
            time: time, configuration: target.settings.configuration.fingerprint,
            provider: target.provider, kind: target.settings.provider.kind.rawValue,
            client: target.settings.client.id.text, rows: results,
            refusedRequests: refusals.present)
    }

    /// A new folder that only this user can read.
    private static func scratchFolder() throws(KitError) -> String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/latchkey-conformance-XXXXXX".utf8CString)
        guard let path = template.withUnsafeMutableBufferPointer({ buffer in buffer.baseAddress.flatMap(mkdtemp) })
        else { throw KitError(.failed, "no folder can be made in \(parent); set TMPDIR to another one") }
        return String(cString: path)
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
