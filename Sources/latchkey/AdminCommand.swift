import ArgumentParser
import LatchkeyConfiguration
import LatchkeyService

/// Runs an operator's command on the configured database and prints its lines; tells in one line why it cannot, and ends
/// the process with 1.
enum AdminCommand {
    static func print(
        _ options: ConfigurationOptions, _ command: (AdminService) async throws -> [String]
    ) async throws {
        try await print(options) { desk, _ in try await command(desk) }
    }

    /// - Parameter words: Told, on standard error, where there are no lines; nil where a program reads them.
    static func print(
        _ options: ConfigurationOptions, ifNothing words: String? = nil,
        _ command: (AdminService, Configuration) async throws -> [String]
    ) async throws {
        let configuration = try options.load(for: .operation).configuration
        do {
            let desk = try AdminService(configuration)
            let result: Result<[String], any Error>
            do { result = .success(try await command(desk, configuration)) } catch { result = .failure(error) }
            await desk.close()
            let lines = try result.get()
            for line in lines { Swift.print(line) }
            if lines.isEmpty, let words { StandardError.print(words) }
        } catch let failure as OperatorFailure {
            StandardError.print("latchkey: \(failure)")
            throw ExitCode(1)
        }
    }
}
