import LatchkeyFeatures
import LatchkeyService

extension SignInHarness {
    /// Runs a command of an operator on the server's database, while the server runs.
    /// - Parameter lines: Those for people or those for programs.
    func runAdminCommand(
        as lines: KeyPath<CommandReport, [String]> = \.text,
        _ command: (AdminService) async throws -> CommandReport
    ) async throws -> [String] {
        try await AdminService(configuration, features: .none).perform(command)[keyPath: lines]
    }
}
