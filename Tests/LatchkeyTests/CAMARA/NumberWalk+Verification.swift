import CarrierSimulator
import HTTPServer
import Primitives
import TestSupport
import Testing

/// The steps of an app that verifies the number of a signed-in user over the mobile network.
extension NumberWalk {
    /// How a verification ended.
    struct VerificationEnd: Sendable {
        let status: String
        let error: String?
        /// The user's number afterwards.
        let number: String?
    }

    /// The number of `jane` at `northwind`.
    static let number = "+12025550123"

    /// A session of a user of another operator, so that the log of `northwind` has the verification only.
    func session() async throws -> String {
        try #require(try await signIn(device: "cellular:harbor:mira", at: "harbor").token)
    }

    /// Verifies a number in the browser of `jane`'s phone.
    func verify(_ number: String = number) async throws -> VerificationEnd {
        let session = try await session()
        let path = "/users/me/phone/verifications"
        let started = try await harness.app.asUser(
            "POST", path, session,
            [
                "phone_number": number, "operator": "northwind", "redirect_uri": Self.redirectURI,
                "correlation_id": "corr-1",
            ])
        try #require(started.status == 201, "\(started.response)")
        let url = try #require(started.json["authorization_url"]?.string)
        let back = try await Browser().get(url, headers: ["X-Simulated-Device: cellular"])
        try #require(back.status == 302, "\(back.text)")
        let end = try await Browser().get(back.location)
        try #require(end.location.hasPrefix(Self.redirectURI), "\(end.text)")
        let id = try #require(end.parameters["verification_id"])
        let answer = try await harness.app.asUser(
            "POST", "\(path)/\(id)/confirmation", session,
            ["confirmation": try #require(end.parameters["confirmation"])])
        return VerificationEnd(
            status: try #require(answer.json["status"]?.string, "\(answer.response)"),
            error: answer.json["error"]?.string,
            number: try await harness.app.me(session).json["phone_number"]?.string)
    }

    /// Expects a verification to fail, after one call of the API and without a change of the account.
    func expectVerification(_ error: String) async throws {
        let before = count(.numberVerify)
        let end = try await verify()
        #expect(end.status == "failed" && end.error == error, "\(end)")
        #expect(end.number != Self.number)
        #expect(count(.numberVerify) == before + 1, "the API is called once, and not again")
    }
}
