import CarrierSimulator
import Crypto
import Primitives
import Testing

/// The scenarios of the feature phoneNumberVerify of Number Verification 2.1.0.
extension CAMARAScenarios {
    static let verify: [CAMARAScenario] = [
        CAMARAScenario(
            id: "phone_number_verify_01_generic_success_scenario", what: "any success",
            verdict: "calls once, with its correlation id, and the number is verified", check: verifiesOnce),
        CAMARAScenario(
            id: "phone_number_verify.02_validate_phone_number_success_true", what: "the number of the device",
            verdict: "the outcome is `verified`, and the user has the number", check: verifiesTheNumber),
        CAMARAScenario(
            id: "phone_number_verify.03_validate_phone_number_success_false", what: "another number",
            verdict: "the outcome is `mismatch`, and the account does not change", check: tellsAMismatch),
        CAMARAScenario(
            id: "phone_number_verify.04_validate_hashed_phone_number_success_true",
            what: "the number of the device, hashed",
            verdict: "with `hashed_phone_number` it sends the SHA-256 in hexadecimal; the outcome is `verified`",
            hashed: true, check: verifiesTheHash),
        CAMARAScenario(
            id: "phone_number_verify.05_validate_hashed_phone_number_success_false", what: "another number, hashed",
            verdict: "the outcome is `mismatch`, and the account does not change", hashed: true,
            check: tellsAMismatch),
        CAMARAScenario(
            id: "phone_number_verify_400.1_no_request_body", what: "no body",
            verdict: "sends a body with every call", check: sendsTheNumberAlone),
        CAMARAScenario(
            id: "phone_number_verify_400.2_empty_request_body", what: "an empty object",
            verdict: "sends `phoneNumber` with every call", check: sendsTheNumberAlone),
        CAMARAScenario(
            id: "phone_number_verify_400.3_invalid_request_non_existing_property",
            what: "a property that the operator does not know",
            verdict: "an operator that does not take the hash makes it `failed` with `carrier_error`", hashed: true,
            check: tellsThatTheHashIsRefused),
        CAMARAScenario(
            id: "phone_number_verify_400.4_both_phone_number_and_hashed_in_request", what: "both properties",
            verdict: "sends the hash in place of the number, never both", hashed: true, check: sendsTheHashAlone),
        CAMARAScenario(
            id: "phone_number_verify_401.1_no_authorization_header", what: "no Authorization header",
            verdict: "sends the access token with every call", check: authorizesEveryVerification),
        CAMARAScenario(
            id: "phone_number_verify_401.2_expired_access_token", what: "an expired access token",
            verdict: "`failed` with `carrier_error`, without another call", check: tellsAnExpiredToken),
        CAMARAScenario(
            id: "phone_number_verify_401.3_invalid_access_token", what: "an invalid access token",
            verdict: "`failed` with `carrier_error`, without another call", check: tellsAnInvalidToken),
        CAMARAScenario(
            id: "phoneNumberVerify_403.1_invalid_token_permissions", what: "a token without the scope",
            verdict: "`failed` with `carrier_error`", check: tellsAMissingScope),
        CAMARAScenario(
            id: "phoneNumberVerify_403.2_not_authenticated_using_network_or_sim_based_authentication",
            what: "not authenticated by the network", verdict: "`failed` with `not_on_mobile_network`",
            check: tellsAnotherAuthentication),
        CAMARAScenario(
            id: "phone_number_verify_C02.01_phone_number_not_schema_compliant", what: "a number without the schema",
            verdict: "refuses the request, and never asks about a number that is not in E.164 form",
            check: refusesAMalformedNumber),
    ]

    @Sendable private static func verifiesOnce(_ walk: NumberWalk) async throws {
        #expect(try await walk.verify().status == "verified")
        #expect(walk.count(.numberVerify) == 1 && walk.count(.devicePhoneNumber) == 0)
        #expect(walk.count(.token) == 1)
        try walk.expectCall(.numberVerify, method: "POST")
        let request = try walk.last(.authorization)
        #expect(request["prompt"] == "none")
        #expect(request["scope"] == "openid dpv:FraudPreventionAndDetection number-verification:verify")
    }

    @Sendable private static func verifiesTheNumber(_ walk: NumberWalk) async throws {
        let end = try await walk.verify()
        #expect(end.status == "verified" && end.number == NumberWalk.number)
    }

    @Sendable private static func tellsAMismatch(_ walk: NumberWalk) async throws {
        let end = try await walk.verify("+12025550199")
        #expect(end.status == "mismatch" && end.error == nil && end.number != "+12025550199", "\(end)")
        #expect(walk.count(.numberVerify) == 1)
    }

    @Sendable private static func verifiesTheHash(_ walk: NumberWalk) async throws {
        let end = try await walk.verify()
        #expect(end.status == "verified" && end.number == NumberWalk.number)
        let hash = SHA256.hash(data: Array(NumberWalk.number.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        #expect(try walk.last(.numberVerify)["hashedPhoneNumber"] == hash)
    }

    @Sendable private static func sendsTheNumberAlone(_ walk: NumberWalk) async throws {
        _ = try await walk.verify()
        let call = try walk.last(.numberVerify)
        #expect(call["phoneNumber"] == NumberWalk.number && call["hashedPhoneNumber"] == nil)
    }

    @Sendable private static func sendsTheHashAlone(_ walk: NumberWalk) async throws {
        _ = try await walk.verify()
        let call = try walk.last(.numberVerify)
        #expect(call["hashedPhoneNumber"] != nil && call["phoneNumber"] == nil)
    }

    @Sendable private static func tellsThatTheHashIsRefused(_ walk: NumberWalk) async throws {
        walk.simulator.update("northwind") { $0.operatorProfile?.acceptsHashedNumbers = false }
        try await walk.expectVerification("carrier_error")
    }

    @Sendable private static func authorizesEveryVerification(_ walk: NumberWalk) async throws {
        _ = try await walk.verify()
        let calls = walk.all(.numberVerify)
        #expect(!calls.isEmpty && calls.allSatisfy { $0.authorization?.hasPrefix("Bearer ") ?? false })
    }

    @Sendable private static func tellsAnExpiredToken(_ walk: NumberWalk) async throws {
        TokenDefect.expired.apply(to: "number-verification", walk)
        try await walk.expectVerification("carrier_error")
    }

    @Sendable private static func tellsAnInvalidToken(_ walk: NumberWalk) async throws {
        TokenDefect.unknown.apply(to: "number-verification", walk)
        try await walk.expectVerification("carrier_error")
    }

    @Sendable private static func tellsAMissingScope(_ walk: NumberWalk) async throws {
        walk.simulator.update("northwind") {
            $0.operatorProfile?.withheldScopes = ["number-verification:verify"]
        }
        try await walk.expectVerification("carrier_error")
    }

    @Sendable private static func tellsAnotherAuthentication(_ walk: NumberWalk) async throws {
        walk.set([.operatorNotNetworkAuthenticated])
        try await walk.expectVerification("not_on_mobile_network")
    }

    @Sendable private static func refusesAMalformedNumber(_ walk: NumberWalk) async throws {
        let session = try await walk.session()
        for number in ["2025550123", "+0123456789", "+1 202", "+1234", "+1234567890123456"] {
            let answer = try await walk.harness.app.asUser(
                "POST", "/users/me/phone/verifications", session,
                ["phone_number": number, "operator": "northwind", "redirect_uri": NumberWalk.redirectURI])
            #expect(answer.status == 400, "\(number)")
        }
        #expect(walk.count(.authorization) == 0 && walk.count(.numberVerify) == 0)
    }
}
