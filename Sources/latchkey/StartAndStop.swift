import ArgumentParser
import LatchkeyConfiguration
import LatchkeyService
import Logging

/// Starts a service; tells in one line why it cannot, and ends the process with 1.
enum Start {
    static func service(
        _ configuration: Configuration, warnings: [ConfigurationProblem] = []
    ) async throws -> LatchkeyService {
        do {
            let service = try LatchkeyService(configuration: configuration)
            for warning in warnings { service.logger.warning("\(warning)") }
            let addresses = try service.start()
            for url in service.urls(of: addresses) {
                service.logger.notice("listening", metadata: ["url": "\(url)"])
            }
            return service
        } catch let error as LatchkeyStartError {
            StandardError.print("latchkey: \(error)")
            throw ExitCode(1)
        }
    }
}

/// Ends a service.
enum Stop {
    static func service(_ service: LatchkeyService, after signal: TerminationSignals.Signal, drain: Duration) async {
        service.logger.notice("stopping", metadata: ["signal": "\(signal)"])
        let cut = await service.shutdown(within: drain)
        if cut > 0 {
            service.logger.warning("cut connections that were not done in time", metadata: ["connections": "\(cut)"])
        }
        service.logger.notice("stopped")
        service.flushLog()
    }
}
