import CarrierSimulator

/// One case: what a provider, or the kit in the place of an app or browser, does; and what the specification demands of
/// the server.
package struct KitCase: Sendable {
    /// What a case is about. Reports have the cases in this order.
    package enum Area: String, Sendable, CaseIterable {
        case baseline, claims, signature, keys, discovery, token
        case userInfo = "userinfo"
        case redirect, request
    }

    package enum Demand: String, Sendable {
        /// The specification demands that it is refused.
        case refuse = "must_refuse"
        /// The specification recommends that it is refused, or Latchkey refuses it by default.
        case recommendRefusal = "should_refuse"
        case accept
    }

    enum Flow: Sendable {
        /// The kit posts the code, as an app does.
        case code
        /// Redirects of a browser.
        case redirect
    }

    typealias Explanation = @Sendable (KitSettings) -> String?

    package let id: String
    package let area: Area
    package let demand: Demand
    /// What is sent, in sentences.
    package let sent: String
    package let rule: String
    package let source: String
    var flow: Flow
    var twist = ClientDeviation.none
    var faults: Set<CarrierSimulator.Fault> = []
    var tampering = CarrierSimulator.Tampering()
    /// Edits of the provider beside its faults.
    var carrier: [@Sendable (inout CarrierSimulator.Carrier) -> Void] = []
    var acr: String?
    /// The setting because of which a case is accepted that is refused by default; nil if none is.
    var loosenedBy: Explanation = { _ in nil }
    /// Why the case does not apply; nil if it does.
    var excludedBy: Explanation = { _ in nil }

    private init(_ id: String, _ area: Area, _ demand: Demand, _ changes: [Change], _ rule: String, _ source: String) {
        self.id = id
        self.area = area
        self.demand = demand
        sent = changes.map(\.text).joined(separator: " ")
        self.rule = rule
        self.source = source
        flow = area == .redirect ? .redirect : .code
        for change in changes { change.apply(&self) }
    }

    static func refused(
        _ id: String, _ area: Area, _ changes: Change..., rule: String, source: String = KitCases.validation
    ) -> KitCase { KitCase(id, area, .refuse, changes, rule, source) }

    static func discouraged(
        _ id: String, _ area: Area, _ changes: Change..., rule: String, source: String = KitCases.validation
    ) -> KitCase { KitCase(id, area, .recommendRefusal, changes, rule, source) }

    static func accepted(
        _ id: String, _ area: Area, _ changes: Change..., rule: String, source: String = KitCases.validation
    ) -> KitCase { KitCase(id, area, .accept, changes, rule, source) }

    /// - Parameter setting: Names the setting and its value where it makes the case pass.
    func loosened(_ setting: @escaping Explanation) -> KitCase {
        var copy = self
        copy.loosenedBy = setting
        return copy
    }

    func excluded(_ reason: @escaping Explanation) -> KitCase {
        var copy = self
        let earlier = excludedBy
        copy.excludedBy = { earlier($0) ?? reason($0) }
        return copy
    }
}

extension KitCase {
    /// What makes a case, and what the report says of it.
    struct Change: Sendable {
        let text: String
        let apply: @Sendable (inout KitCase) -> Void

        static func fault(_ fault: CarrierSimulator.Fault) -> Change {
            Change(text: fault.summary) { $0.faults.insert(fault) }
        }

        /// - Parameter text: In place of the fault's summary.
        static func fault(_ fault: CarrierSimulator.Fault, saying text: String) -> Change {
            Change(text: text) { $0.faults.insert(fault) }
        }

        static func token(_ text: String, _ edit: @escaping @Sendable (inout TokenDraft) -> Void) -> Change {
            Change(text: text) { $0.tampering.idTokens.append(edit) }
        }

        static func object(
            _ endpoint: CarrierSimulator.RequestLog.Endpoint, _ text: String,
            _ edit: @escaping @Sendable (inout JSONMembers) -> Void
        ) -> Change {
            Change(text: text) { $0.tampering.objects[endpoint, default: []].append(edit) }
        }

        static func carrier(
            _ text: String, _ edit: @escaping @Sendable (inout CarrierSimulator.Carrier) -> Void
        ) -> Change {
            Change(text: text) { $0.carrier.append(edit) }
        }

        static func twist(_ twist: ClientDeviation) -> Change {
            Change(text: twist.summary) {
                $0.twist = twist
                if twist == .withoutVerifier { $0.carrier.append { $0.checksCodeVerifier = false } }
            }
        }

        static func asks(acr: String) -> Change { Change(text: "acr_values is \(acr).") { $0.acr = acr } }

        static let correct = Change(text: "Everything is correct.") { _ in }
        static let redirect = Change(text: "A browser signs in by redirects.") { $0.flow = .redirect }
    }
}

/// What the kit does wrong in the place of an app or browser.
enum ClientDeviation: Sendable {
    case none
    case withoutVerifier, otherVerifier, withoutNonce, repeatedNonce, usedCode, unregisteredRedirectURI
    case otherBrowser, repeatedResponse, codeOfAnother, startAtUnregisteredURI, startWithoutChallenge

    var summary: String {
        switch self {
        case .none: ""
        case .withoutVerifier:
            "The app posts a code without code_verifier, and the provider does not check the verifier."
        case .otherVerifier: "The app posts a code with a code_verifier that does not fit the code challenge."
        case .withoutNonce: "The app posts a code without the nonce of its authorization request."
        case .repeatedNonce: "The app posts a second code with the nonce of its first sign-in."
        case .usedCode: "The app posts a code a second time, in another sign-in."
        case .unregisteredRedirectURI: "The app posts a code with a redirect_uri that is not configured."
        case .otherBrowser: "Another browser brings the authorization response."
        case .repeatedResponse: "Another browser brings an authorization response that was used."
        case .codeOfAnother: "The browser brings the code of another sign-in with its own state."
        case .startAtUnregisteredURI: "A sign-in by redirects starts with a redirect_uri that is not configured."
        case .startWithoutChallenge: "A sign-in of an app by redirects starts without code_challenge."
        }
    }
}

package enum KitCases {
    package static let all: [KitCase] = [
        baseline, claims, times, headers, signatures, keys, discovery, token, userInfo, redirects, signedResponses,
        requests,
    ].flatMap(\.self)

    static let core = "OpenID Connect Core 1.0"
    /// The validation of ID tokens, which most cases are about.
    static let validation = core + " section 3.1.3.7"

    /// What must work before a refusal says anything.
    static let baseline: [KitCase] = [
        .accepted("correct-code", .baseline, .correct, rule: "A correct sign-in succeeds.", source: core),
        .accepted(
            "correct-redirect", .baseline, .redirect, .correct, rule: "A correct sign-in succeeds.", source: core
        ).excluded(\.withoutRedirects),
    ]
}
