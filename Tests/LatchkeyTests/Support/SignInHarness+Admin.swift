import LatchkeyService

extension SignInHarness {
    /// Runs a command of an operator on the server's database, while the server runs.
    /// - Parameter lines: Those for people or those for programs.
    func runAdminCommand(
        as lines: KeyPath<CommandReport, [String]> = \.text,
        _ command: (AdminService) async throws -> CommandReport
    ) async throws -> [String] {
        let admin = try AdminService(configuration, features: .none)
        let result: Result<CommandReport, any Error>
        do { result = .success(try await command(admin)) } catch { result = .failure(error) }
        await admin.close()
        return try result.get()[keyPath: lines]
    }
}
