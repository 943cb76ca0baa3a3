import CarrierSimulator
import Primitives
import Testing

/// A scenario of the CAMARA test definitions, or a requirement of the profile on API consumers.
struct CAMARAScenario: Sendable, CustomTestStringConvertible {
    typealias Check = @Sendable (NumberWalk) async throws -> Void

    /// The scenario's tag, or the section of the requirement.
    let id: String
    /// What it says, in short.
    let what: String
    /// What Latchkey does, or why the scenario is the operator's own business.
    let verdict: String
    /// The value of `sim_swap`.
    var simSwap = "{if_swapped: off}"
    /// The value of `hashed_phone_number`.
    var hashed = false
    /// Shows the verdict; nil for the operator's own business, and for what needs a clock of its own.
    var check: Check?
    /// The test that shows the verdict with a clock of its own, as `Target/Suite.function`.
    var otherTest: String?

    var testDescription: String { "\(id): \(what)" }
}

/// The errors of CAMARA's APIs at one endpoint, made by the operator in different ways.
enum TokenDefect: Sendable {
    case expired, unknown

    /// Damages the access tokens whose scope contains a text, after the operator has issued them.
    func apply(to scope: String, _ walk: NumberWalk) {
        let simulator = walk.simulator
        simulator.update("northwind") { carrier in
            carrier.tampering.objects[.token, default: []].append { members in
                guard members["scope"]?.string?.contains(scope) ?? false else { return }
                switch self {
                case .expired: simulator.expireAccessTokens(at: "northwind")
                case .unknown: members["access_token"] = "an-access-token-that-nobody-issued"
                }
            }
        }
    }
}

extension NumberWalk {
    /// Expects a sign-in to end with an error, after one call of an API.
    func expect(_ error: String, after endpoint: Endpoint) async throws {
        let before = count(endpoint)
        let end = try await signIn()
        #expect(end.result == error)
        #expect(end.token == nil)
        #expect(count(endpoint) == before + 1, "the API is called once, and not again")
    }

    /// Sets how many hours ago the SIM of the first subscriber was changed.
    func setChange(hoursAgo hours: Int64) {
        let time = WallClock.system.now().advanced(bySeconds: -hours * 3600)
        simulator.setSIMChange(at: time, of: "jane", at: "northwind")
    }

    /// Expects that a call of an API has an access token and the correlation id of the sign-in.
    func expectCall(_ endpoint: Endpoint, method: String) throws {
        let call = try last(endpoint)
        #expect(call.method == method)
        #expect(call.authorization?.hasPrefix("Bearer ") == true)
        #expect(call.correlator == "corr-1")
    }
}
