import CarrierSimulator
import LatchkeyConfiguration
import Primitives
import Testing

/// The scenarios of the features phoneNumberShare and phoneNumberVerify of Number Verification 2.1.0, and checkSimSwap
/// and retrieveSimSwapDate of SIM Swap 2.1.0.
enum CAMARAScenarios {
    static let sections: [(title: String, scenarios: [CAMARAScenario])] = [
        ("Number Verification: phoneNumberShare", share), ("Number Verification: phoneNumberVerify", verify),
        ("SIM Swap: checkSimSwap", check), ("SIM Swap: retrieveSimSwapDate", dates),
    ]

    static var shown: [CAMARAScenario] { sections.flatMap(\.scenarios).filter { $0.check != nil } }

    private static let share: [CAMARAScenario] = [
        CAMARAScenario(
            id: "phone_number_share_01_generic_success_scenario", what: "any success",
            verdict: "calls once, with its correlation id, and signs the user in", check: asksForTheNumberOnce),
        CAMARAScenario(
            id: "phone_number_share_02_success_scenario", what: "the number of the token",
            verdict: "the user has this number, verified by the operator", check: signsInWithTheNumber),
        CAMARAScenario(
            id: "phone_number_verify_401.1_no_authorization_header", what: "no Authorization header",
            verdict: "sends the access token with every call", check: authorizesEveryCallForTheNumber),
        CAMARAScenario(
            id: "phone_number_verify_401.2_expired_access_token", what: "an expired access token",
            verdict: "refuses the sign-in with `carrier_error`, without another call",
            check: refusesAfterAnExpiredToken),
        CAMARAScenario(
            id: "phone_number_verify_401.3_invalid_access_token", what: "an invalid access token",
            verdict: "refuses the sign-in with `carrier_error`, without another call",
            check: refusesAfterAnInvalidToken),
        CAMARAScenario(
            id: "phoneNumberShare_403.1_invalid_token_permissions", what: "a token without the scope",
            verdict: "refuses the sign-in with `carrier_error`", check: refusesWithoutTheScope),
        CAMARAScenario(
            id: "phoneNumberShare_403.2_not_authenticated_using_network_or_sim_based_authentication",
            what: "not authenticated by the network", verdict: "refuses the sign-in with `not_on_mobile_network`",
            check: refusesAnotherAuthentication),
    ]

    private static let refuse = "{max_age_hours: 240, if_swapped: refuse}"

    private static let check: [CAMARAScenario] = [
        CAMARAScenario(
            id: "check_sim_swap_1_generic_success_scenario", what: "any success",
            verdict: "calls once, with its correlation id, and believes the answer", simSwap: refuse,
            check: asksForTheSIMOnce),
        CAMARAScenario(
            id: "check_sim_swap_2_valid_sim_swap_no_max_age", what: "a change within the default of 240 hours",
            verdict: "refuses the sign-in with `sim_swapped`", simSwap: "{if_swapped: refuse}",
            check: refusesAChangeWithinTheDefault),
        CAMARAScenario(
            id: "check_sim_swap_3_valid_sim_swap_max_age", what: "a change within `maxAge`",
            verdict: "refuses the sign-in with `sim_swapped`", simSwap: "{max_age_hours: 260, if_swapped: refuse}",
            check: refusesAChangeWithinMaxAge),
        CAMARAScenario(
            id: "check_sim_swap_4_more_than_240_hours", what: "a change more than 240 hours ago",
            verdict: "signs the user in", simSwap: "{if_swapped: refuse}", check: acceptsAChangeBeforeTheDefault),
        CAMARAScenario(
            id: "check_sim_swap_5_out_of_max_age", what: "a change before `maxAge`", verdict: "signs the user in",
            simSwap: "{max_age_hours: 71, if_swapped: refuse}", check: acceptsAChangeBeforeMaxAge),
        CAMARAScenario(
            id: "check_sim_swap_6_no_sim_swap_no_max_age", what: "no change, within the default",
            verdict: "signs the user in", simSwap: "{if_swapped: refuse}", check: acceptsNoChangeWithinTheDefault),
        CAMARAScenario(
            id: "check_sim_swap_7_no_sim_swap_with_max_age", what: "no change, with `maxAge`",
            verdict: "signs the user in", simSwap: "{max_age_hours: 11, if_swapped: refuse}",
            check: acceptsNoChangeWithinMaxAge),
        CAMARAScenario(
            id: "check_sim_swap_401.1_no_authorization_header", what: "no Authorization header",
            verdict: "sends an access token with every call", simSwap: refuse, check: authorizesEveryCallForTheSIM),
        CAMARAScenario(
            id: "check_sim_swap_401.2_expired_access_token", what: "an expired access token",
            verdict: "refuses the sign-in with `carrier_error`, because the SIM is unknown", simSwap: refuse,
            check: refusesAnUnknownSIMAfterAnExpiredToken),
        CAMARAScenario(
            id: "check_sim_swap_401.3_invalid_access_token", what: "an invalid access token",
            verdict: "refuses the sign-in with `carrier_error`; with `if_unknown: accept` it signs the user in",
            simSwap: "{max_age_hours: 240, if_swapped: refuse, if_unknown: accept}",
            check: acceptsAnUnknownSIMIfConfigured),
        CAMARAScenario(
            id: "check_sim_swap_400.1_invalid_max_age", what: "an invalid `maxAge`",
            verdict: "the configuration is refused", check: refusesAnInvalidMaxAge),
        CAMARAScenario(
            id: "check_sim_swap_400.2_invalid_max_age_value", what: "a `maxAge` above the limit",
            verdict: "the configuration is refused", check: refusesAMaxAgeAboveTheLimit),
        CAMARAScenario(
            id: "check_sim_swap_400.3_max_age_out_of_monitored_period", what: "a `maxAge` above what is monitored",
            verdict: "refuses the sign-in with `carrier_error`, because the SIM is unknown", simSwap: refuse,
            check: refusesAMaxAgeAboveWhatIsMonitored),
        CAMARAScenario(
            id: "check_sim_swap_C02.01_phone_number_not_schema_compliant", what: "a number without the schema",
            verdict: "never asks about a number that is not in E.164 form", simSwap: refuse,
            check: asksForNoMalformedNumber),
        CAMARAScenario(
            id: "check_sim_swap_C02.02_phone_number_not_found", what: "an unknown number",
            verdict: "refuses the sign-in with `carrier_error`, because the SIM is unknown", simSwap: refuse,
            check: refusesAnUnknownNumber),
        CAMARAScenario(
            id: "check_sim_swap_C02.03_unnecessary_phone_number", what: "a number beside a token with a user",
            verdict: "names the number with a token that has no user", simSwap: refuse,
            check: namesTheNumberWithATokenWithoutUser),
        CAMARAScenario(
            id: "check_sim_swap_C02.04_missing_phone_number", what: "no number, and a token without a user",
            verdict: "names the number in every call", simSwap: refuse, check: namesTheNumberInEveryCall),
        CAMARAScenario(
            id: "check_sim_swap_C02.05_phone_number_not_supported", what: "a number that is not served",
            verdict: "refuses the sign-in with `carrier_error`, because the SIM is unknown", simSwap: refuse,
            check: refusesANumberThatIsNotServed),
    ]

    private static let dates: [CAMARAScenario] = [
        "retrieve_sim_swap_date_1_generic_success_scenario", "retrieve_sim_swap_date_2_valid_sim_swap",
        "retrieve_sim_swap_date_3_no_sim_swap_returns_activation_date",
        "retrieve_sim_swap_date_4_sim_never_associated",
        "retrieve_sim_swap_date_5_no_sim_swap_or_activation_date_due_to_legal_constrain",
        "retrieve_sim_swap_date_401.1_no_authorization_header",
        "retrieve_sim_swap_date_401.2_expired_access_token", "retrieve_sim_swap_date_401.3_invalid_access_token",
        "retrieve_sim_swap_date_C02.01_phone_number_not_schema_compliant",
        "retrieve_sim_swap_date_C02.02_phone_number_not_found",
        "retrieve_sim_swap_date_C02.03_unnecessary_phone_number",
        "retrieve_sim_swap_date_C02.04_missing_phone_number",
        "retrieve_sim_swap_date_C02.05_phone_number_not_supported",
    ].map { CAMARAScenario(id: $0, what: "the date of the last change", verdict: "Latchkey asks `check` only.") }
}

/// What shows them.
extension CAMARAScenarios {
    @Sendable fileprivate static func asksForTheNumberOnce(_ walk: NumberWalk) async throws {
        #expect(try await walk.signIn().result == "success")
        #expect(walk.count(.devicePhoneNumber) == 1)
        try walk.expectCall(.devicePhoneNumber, method: "GET")
    }

    @Sendable fileprivate static func signsInWithTheNumber(_ walk: NumberWalk) async throws {
        for (user, number) in [("jane", "+12025550123"), ("ravi", "+12025550187")] {
            let end = try await walk.signIn(device: "cellular:northwind:\(user)")
            #expect(try await walk.me(end, "phone_number")?.string == number)
            #expect(try await walk.me(end, "phone_number_verified")?.bool == true)
        }
    }

    @Sendable fileprivate static func authorizesEveryCallForTheNumber(_ walk: NumberWalk) async throws {
        _ = try await walk.signIn()
        let calls = walk.all(.devicePhoneNumber)
        #expect(!calls.isEmpty && calls.allSatisfy { $0.authorization?.hasPrefix("Bearer ") ?? false })
    }

    @Sendable fileprivate static func refusesAfterAnExpiredToken(_ walk: NumberWalk) async throws {
        TokenDefect.expired.apply(to: "number-verification", walk)
        try await walk.expect("carrier_error", after: .devicePhoneNumber)
    }

    @Sendable fileprivate static func refusesAfterAnInvalidToken(_ walk: NumberWalk) async throws {
        TokenDefect.unknown.apply(to: "number-verification", walk)
        try await walk.expect("carrier_error", after: .devicePhoneNumber)
    }

    @Sendable fileprivate static func refusesWithoutTheScope(_ walk: NumberWalk) async throws {
        walk.simulator.update("northwind") {
            $0.operatorProfile?.withheldScopes = ["number-verification:device-phone-number:read"]
        }
        try await walk.expect("carrier_error", after: .devicePhoneNumber)
    }

    @Sendable fileprivate static func refusesAnotherAuthentication(_ walk: NumberWalk) async throws {
        walk.set([.operatorNotNetworkAuthenticated])
        try await walk.expect("not_on_mobile_network", after: .devicePhoneNumber)
    }

    @Sendable fileprivate static func asksForTheSIMOnce(_ walk: NumberWalk) async throws {
        #expect(try await walk.signIn().result == "success")
        #expect(walk.count(.simSwapCheck) == 1)
        try walk.expectCall(.simSwapCheck, method: "POST")
    }

    @Sendable fileprivate static func refusesAChangeWithinTheDefault(_ walk: NumberWalk) async throws {
        walk.setChange(hoursAgo: 230)
        try await walk.expect("sim_swapped", after: .simSwapCheck)
        #expect(try walk.last(.simSwapCheck)["maxAge"] == "240")
    }

    @Sendable fileprivate static func refusesAChangeWithinMaxAge(_ walk: NumberWalk) async throws {
        for hours: Int64 in [259, 120, 24, 12] {
            walk.setChange(hoursAgo: hours)
            try await walk.expect("sim_swapped", after: .simSwapCheck)
            #expect(try walk.last(.simSwapCheck)["maxAge"] == "260")
        }
    }

    @Sendable fileprivate static func acceptsAChangeBeforeTheDefault(_ walk: NumberWalk) async throws {
        walk.setChange(hoursAgo: 241)
        #expect(try await walk.signIn().result == "success")
        #expect(walk.count(.simSwapCheck) == 1)
    }

    @Sendable fileprivate static func acceptsAChangeBeforeMaxAge(_ walk: NumberWalk) async throws {
        walk.setChange(hoursAgo: 72)
        #expect(try await walk.signIn().result == "success")
        #expect(try walk.last(.simSwapCheck)["maxAge"] == "71")
    }

    @Sendable fileprivate static func acceptsNoChangeWithinTheDefault(_ walk: NumberWalk) async throws {
        #expect(try await walk.signIn().result == "success")
        #expect(walk.count(.simSwapCheck) == 1)
    }

    @Sendable fileprivate static func acceptsNoChangeWithinMaxAge(_ walk: NumberWalk) async throws {
        walk.setChange(hoursAgo: 12)
        #expect(try await walk.signIn().result == "success")
        #expect(try walk.last(.simSwapCheck)["maxAge"] == "11")
    }

    @Sendable fileprivate static func authorizesEveryCallForTheSIM(_ walk: NumberWalk) async throws {
        _ = try await walk.signIn()
        let calls = walk.all(.simSwapCheck)
        #expect(!calls.isEmpty && calls.allSatisfy { $0.authorization?.hasPrefix("Bearer ") ?? false })
    }

    @Sendable fileprivate static func refusesAnUnknownSIMAfterAnExpiredToken(_ walk: NumberWalk) async throws {
        TokenDefect.expired.apply(to: "sim-swap", walk)
        try await walk.expect("carrier_error", after: .simSwapCheck)
    }

    @Sendable fileprivate static func acceptsAnUnknownSIMIfConfigured(_ walk: NumberWalk) async throws {
        TokenDefect.unknown.apply(to: "sim-swap", walk)
        #expect(try await walk.signIn().result == "success")
        #expect(walk.count(.simSwapCheck) == 1)
    }

    @Sendable fileprivate static func refusesAnInvalidMaxAge(_: NumberWalk) async throws {
        for value in ["0", "-1", "1.5", "soon"] {
            #expect(throws: (any Error).self) {
                try NumberWalk.configuration(nil, simSwap: "{max_age_hours: \(value), if_swapped: refuse}")
            }
        }
    }

    @Sendable fileprivate static func refusesAMaxAgeAboveTheLimit(_: NumberWalk) async throws {
        _ = try NumberWalk.configuration(nil, simSwap: "{max_age_hours: 2400, if_swapped: refuse}")
        #expect(throws: (any Error).self) {
            try NumberWalk.configuration(nil, simSwap: "{max_age_hours: 2401, if_swapped: refuse}")
        }
    }

    @Sendable fileprivate static func refusesAMaxAgeAboveWhatIsMonitored(_ walk: NumberWalk) async throws {
        walk.simulator.update("northwind") { $0.operatorProfile?.monitoredDays = 3 }
        try await walk.expect("carrier_error", after: .simSwapCheck)
    }

    @Sendable fileprivate static func asksForNoMalformedNumber(_ walk: NumberWalk) async throws {
        walk.set([.operatorNumberMalformed])
        #expect(try await walk.signIn().result == "carrier_error")
        #expect(walk.count(.simSwapCheck) == 0)
    }

    @Sendable fileprivate static func refusesAnUnknownNumber(_ walk: NumberWalk) async throws {
        walk.set([.operatorWrongNumber])
        try await walk.expect("carrier_error", after: .simSwapCheck)
    }

    @Sendable fileprivate static func namesTheNumberWithATokenWithoutUser(_ walk: NumberWalk) async throws {
        _ = try await walk.signIn()
        #expect(try walk.last(.token)["grant_type"] == "client_credentials")
        #expect(try walk.last(.simSwapCheck)["phoneNumber"] == "+12025550123")
    }

    @Sendable fileprivate static func namesTheNumberInEveryCall(_ walk: NumberWalk) async throws {
        for user in ["jane", "ravi"] { _ = try await walk.signIn(device: "cellular:northwind:\(user)") }
        #expect(walk.all(.simSwapCheck).map { $0["phoneNumber"] } == ["+12025550123", "+12025550187"])
    }

    @Sendable fileprivate static func refusesANumberThatIsNotServed(_ walk: NumberWalk) async throws {
        walk.set([.operatorSIMSwapUnknown])
        try await walk.expect("carrier_error", after: .simSwapCheck)
    }
}
