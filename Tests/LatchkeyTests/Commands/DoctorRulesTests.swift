import Foundation
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// How the doctor judges clocks and certificates, with a carrier of scripted responses.
struct DoctorRulesTests {
    private static let now: Int64 = 784_111_777

    /// The findings about a carrier whose responses have this date and certificate.
    private func findings(
        _ area: DoctorReport.Finding.Area, date: String? = nil, expiry: Int64? = nil, failure: OutboundError? = nil
    ) async throws -> [DoctorReport.Finding] {
        let issuer = "https://login.carrier.example"
        let key = TestSigningKey(keyID: "k1")
        let http = ScriptedHTTPClient { request throws(OutboundError) in
            if let failure { throw failure }
            let text =
                request.url.text.hasPrefix(issuer + "/jwks")
                ? "{\"keys\":[\(key.jwk)]}"
                : """
                {"issuer":"\(issuer)","authorization_endpoint":"\(issuer)/a","token_endpoint":"\(issuer)/t",\
                "jwks_uri":"\(issuer)/jwks"}
                """
            var response = OutboundResponse.json(text)
            response.date = date
            response.certificateExpiry = expiry.map(Timestamp.init(secondsSinceEpoch:))
            return response
        }
        let directory = try TemporaryDirectory()
        var configuration = Configuration()
        configuration.database.url = DatabaseURL(path: directory.file("latchkey.db"))
        configuration.zenkey.trustedIssuers = ["*.carrier.example"]
        configuration.zenkey.discoveryURL = EndpointURL("https://discovery.carrier.example/x", policy: .httpsOnly)
        configuration.zenkey.clients = [.init(id: try #require(ClientID("client-1")), secret: Secret("s3cret"))]
        let doctor = Doctor(
            configuration, networks: [try #require(MCCMNC("310999"))], http: http,
            clock: ManualClock(secondsSinceEpoch: Self.now).wallClock)
        let report = await doctor.examine()
        #expect(!(report.text + report.json).contains("s3cret"))
        return report.findings.filter { $0.area == area }
    }

    @Test(
        "A clock difference above half the allowed skew is a warning, and above all of it a problem",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", .ok), ("Sun, 06 Nov 1994 08:50:07 GMT", .ok),
            ("Sun, 06 Nov 1994 08:50:08 GMT", .warning), ("Sun, 06 Nov 1994 08:48:37 GMT", .warning),
            ("Sun, 06 Nov 1994 08:50:38 GMT", .problem), ("Sun, 06 Nov 1994 08:48:36 GMT", .problem),
            ("Mon, 07 Nov 1994 08:49:37 GMT", .problem), (nil, .warning), ("yesterday", .warning),
        ] as [(String?, DoctorReport.Finding.Severity)])
    func clock(date: String?, severity: DoctorReport.Finding.Severity) async throws {
        let findings = try await findings(.clock, date: date)
        #expect(findings.map(\.subject) == ["discovery.carrier.example:443", "login.carrier.example:443"])
        #expect(findings.map(\.severity) == [severity, severity])
    }

    @Test(
        "A certificate that expires soon is a warning, very soon a problem, and an unknown expiry neither",
        arguments: [
            (90, .ok), (14, .ok), (13, .warning), (3, .warning), (2, .problem), (0, .problem), (-1, .problem),
            (nil, .ok),
        ] as [(Int64?, DoctorReport.Finding.Severity)])
    func certificates(days: Int64?, severity: DoctorReport.Finding.Severity) async throws {
        let findings = try await findings(.certificates, expiry: days.map { Self.now + $0 * 86_400 + 60 })
        #expect(findings.map(\.severity) == [severity, severity])
        if days == nil { #expect(findings.allSatisfy { $0.message.contains("does not report") }) }
    }

    @Test("An invalid certificate is a problem with the reason")
    func badCertificate() async throws {
        let failure = OutboundError(.tls, mayHaveBeenSent: false, reason: "certificate has expired")
        let findings = try await findings(.certificates, failure: failure)
        #expect(findings.map(\.severity) == [.problem])
        #expect(findings.first?.message.contains("expired") == true)
    }
}
