import CarrierSimulator
import Primitives
import Testing

/// A module of a certification plan: what the provider does, and what Latchkey must do.
struct CertificationModule: Sendable, CustomTestStringConvertible {
    typealias Steps = @Sendable (CertificationRun) async throws -> Observation
    typealias BackchannelSteps = @Sendable (BackchannelCertificationRun) async throws -> Observation
    typealias Change = ConformanceCase.Change

    /// What a relying party does, as a provider and a user see it.
    enum Observation: Sendable, Equatable, CustomStringConvertible {
        /// One sign-in, or as many as the module has.
        case signedIn
        /// The tokens were redeemed and refused. The check is named in the error.
        case refused(_ check: String)
        /// The authorization response was refused: no token request. The check of a signed response is named.
        case noCodeRedeemed(_ check: String = "")
        /// No browser was sent to the provider.
        case neverSent
        case loggedOut
        /// The logout token was refused, and the session goes on.
        case logoutRefused
        case refreshed
        /// The refresh was made, and its tokens are not used.
        case refreshRefused
        /// The authentication request failed, and no tokens were asked for. The error is the app's.
        case notStarted(_ error: String)
        /// A poll ended the sign-in, and no other one was sent. The error is the app's.
        case ended(_ error: String)
        /// The provider's notification was refused, and no tokens were asked for.
        case pingRefused
        /// None of these.
        case other(String)

        var description: String {
            switch self {
            case .signedIn: "signs the user in"
            case .refused(let check): check.isEmpty ? "refuses the tokens" : "refuses the tokens: `\(check)`"
            case .noCodeRedeemed(let check):
                "refuses the response, and redeems no code" + (check.isEmpty ? "" : ": `\(check)`")
            case .neverSent: "sends no browser to the provider"
            case .loggedOut: "ends the session"
            case .logoutRefused: "responds with 400, and keeps the session"
            case .refreshed: "uses the new tokens"
            case .refreshRefused: "uses none of the new tokens"
            case .notStarted(let error): "starts no sign-in, and asks for no tokens: `\(error)`"
            case .ended(let error): "ends the sign-in, and polls no more: `\(error)`"
            case .pingRefused: "responds with 401, and asks for no tokens"
            case .other(let text): text
            }
        }

        /// Whether this is what was expected; an expected refusal without a check may have any.
        func meets(_ expected: Observation) -> Bool {
            if case .refused = self, expected == .refused("") { return true }
            return self == expected
        }
    }

    let name: String
    /// The provider's behaviour, and what the user changes on the way.
    var behaviour: ConformanceCase
    var expected: Observation
    var steps: Steps = CertificationRun.signIn
    /// The steps of a plan without browsers.
    var backchannelSteps: BackchannelSteps = BackchannelCertificationRun.signIn
    /// Why the suite gives no verdict on the module; nil if it does. The module is run here all the same.
    var reasonWithoutVerdict: String?
    /// The errors of the requests that the provider refuses because of the module, not because of Latchkey.
    var refusals: Set<String> = []

    var testDescription: String { name }

    /// A module whose provider behaves as the changes say.
    init(_ name: String, _ expected: Observation, _ changes: Change...) {
        self.init(name, expected, ConformanceCase(name, .signedIn, changes))
    }

    private init(_ name: String, _ expected: Observation, _ behaviour: ConformanceCase) {
        self.name = name
        self.behaviour = behaviour
        self.expected = expected
    }

    /// A module whose provider behaves as in a case of the conformance table.
    /// - Parameter id: The case, if it does not have the module's name.
    static func same(_ name: String, as id: String? = nil) -> Self {
        guard let row = ConformanceCases.all.first(where: { $0.id == id ?? name }) else {
            return Self(name, .other("there is no such case"))
        }
        return Self(name, expectation(of: row), row)
    }

    private static func expectation(of row: ConformanceCase) -> Observation {
        switch row.verdict {
        case .signedIn: .signedIn
        case .rejected: .refused(row.says)
        case .configuration: .neverSent
        case .callback: .noCodeRedeemed()
        case .upstream, .request, .waiting, .loggedOut, .unexpected: .other("there is no such expectation")
        }
    }

    func by(_ steps: @escaping Steps) -> Self {
        var module = self
        module.steps = steps
        return module
    }

    func asking(_ steps: @escaping BackchannelSteps) -> Self {
        var module = self
        module.backchannelSteps = steps
        return module
    }

    func withoutVerdict(_ reason: String) -> Self {
        var module = self
        module.reasonWithoutVerdict = reason
        return module
    }

    /// The word of the page.
    var verdict: String { reasonWithoutVerdict == nil ? "passes" : "no verdict" }

    func refusing(_ codes: String...) -> Self {
        var module = self
        module.refusals.formUnion(codes)
        return module
    }
}
