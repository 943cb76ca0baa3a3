import LatchkeyFeatures
import LatchkeyService

extension SignInHarness {
    /// Runs a command of an operator on the server's database, while the server runs.
    func runAdminCommand(_ command: (AdminService) async throws -> [String]) async throws -> [String] {
        let admin = try AdminService(configuration, features: .none)
        let result: Result<[String], any Error>
        do { result = .success(try await command(admin)) } catch { result = .failure(error) }
        await admin.close()
        return try result.get()
    }
}
