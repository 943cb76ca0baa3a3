import CarrierSimulator
import Foundation
import HTTPServer
import Primitives
import Synchronization
import TestSupport
import Testing

/// A module at its own provider.
struct CertificationRun: Sendable {
    typealias Observation = CertificationModule.Observation
    typealias Endpoint = CarrierSimulator.RequestLog.Endpoint

    static let scope = "openid profile email"

    let plan: CertificationPlan
    let module: CertificationModule
    let harness: CertificationHarness
    let provider: String
    /// Whether the provider behaves as the module says.
    private let misbehaves: Bool
    /// The number of the provider's log entries before this run.
    private let before: [Endpoint: Int]

    var simulator: CarrierSimulator { harness.simulator }
    var path: String { "\(harness.origin)/auth/\(provider)" }

    private init(
        _ plan: CertificationPlan, _ module: CertificationModule, on harness: CertificationHarness, misbehaves: Bool
    ) {
        self.plan = plan
        self.module = module
        self.harness = harness
        self.misbehaves = misbehaves
        let provider = plan.provider(of: module)
        self.provider = provider
        before = Dictionary(
            uniqueKeysWithValues: Endpoint.allCases.map { ($0, harness.simulator.log.count($0, provider)) })
    }

    /// Runs a module, and then a sign-in at the same provider without what the module is about, which shows that
    /// nothing else made the module pass.
    static func perform(
        _ module: CertificationModule, of plan: CertificationPlan, on harness: CertificationHarness
    ) async throws {
        let run = CertificationRun(plan, module, on: harness, misbehaves: true)
        let observation = try await module.steps(run)
        #expect(observation.meets(module.expected), "\(observation), not: \(module.expected)")
        run.expectNothingRefused()
        #expect(run.count(.canary) == 0, "an address was requested that only a trap names")
        let row = CertificationTable.Row(plan: plan.id, module: module.name)
        harness.results.withLock { $0[row] = observation.description }
        let twin = CertificationRun(plan, module, on: harness, misbehaves: false)
        twin.behave(true)
        let signedIn = try await signIn(twin)
        #expect(signedIn == .signedIn, "without the module's behaviour: \(signedIn)")
    }

    /// Whether the provider is correct from now on, or behaves as the module says.
    func behave(_ isCorrect: Bool) {
        simulator.add(CertificationHarness.provider(provider, of: plan, module, misbehaves: !isCorrect))
    }

    /// The requests at an endpoint since the run began.
    func count(_ endpoint: Endpoint) -> Int { simulator.log.count(endpoint, provider) - (before[endpoint] ?? 0) }

    func last(_ endpoint: Endpoint) -> CarrierSimulator.RequestLog.Entry? { simulator.log.last(endpoint, provider) }

    /// The provider checks each request, and refuses one that is wrong.
    private func expectNothingRefused() {
        let refused = simulator.log.refusals(at: provider).filter { !module.refusals.contains($0.code) }
        #expect(refused.isEmpty, "the provider refused what Latchkey sent: \(refused)")
    }
}

// MARK: Signing in

extension CertificationRun {
    /// Signs in a browser.
    static let signIn: CertificationModule.Steps = { run in
        let browser = Browser()
        return try await run.signIn(browser)
    }

    func signIn(_ browser: Browser, _ fields: [String: String] = [:]) async throws -> Observation {
        try await finish(browser, try await start(browser, fields))
    }

    /// The response that sends a browser to the provider.
    func start(_ browser: Browser, _ fields: [String: String] = [:]) async throws -> Browser.Page {
        let all = ["client_type": "web", "redirect_uri": CertificationHarness.webURI, "scope": Self.scope]
        return try await browser.get("\(path)/start?\(App.form(all.merging(fields) { $1 }))")
    }

    /// Takes a browser that was sent to the provider through the approval and back.
    func finish(_ browser: Browser, _ asked: Browser.Page) async throws -> Observation {
        guard asked.location.hasPrefix(simulator.issuer(of: provider) ?? "-") else {
            return observation(asked, browser)
        }
        var returned = AuthorizationCallback(try await browser.approve(asked))
        #expect(returned.isForm == plan.postsForms)
        if misbehaves { module.behaviour.callbackEdit?(&returned.items) }
        try expectGoodRequest()
        return observation(try await comeBack(browser, returned), browser)
    }

    /// Passes the authorization response on. Browsers send no cookie with another site's form; then Latchkey's page has
    /// the same form.
    private func comeBack(_ browser: Browser, _ returned: AuthorizationCallback) async throws -> Browser.Page {
        guard returned.isForm else { return try await browser.get(returned.callback + "?" + returned.query) }
        let passed = AuthorizationCallback(
            try await Browser().post(returned.callback, form: Self.fields(returned.items)))
        #expect(passed.isForm)
        return try await browser.post(returned.callback, form: Self.fields(passed.items))
    }

    private static func fields(_ items: [AuthorizationCallback.Item]) -> [String: String] {
        Dictionary(items.map { ($0.name, $0.value) }) { $1 }
    }

    private func observation(_ page: Browser.Page, _ browser: Browser) -> Observation {
        let answer = App.Answer(response: page.response, json: App.Members(of: page.response.body))
        let text = page.parameters["error_description"] ?? page.text
        let check = text.matches(of: /\(([a-z_]+)\)/).last.map { String($0.1) } ?? ""
        switch AuthorizationCallback.verdict(of: answer) {
        case .signedIn:
            #expect(count(.userInfo) > 0)
            return .signedIn
        case .rejected where count(.token) > 0:
            if check != "userinfo_subject" { #expect(count(.userInfo) == 0, "a refused token was used") }
            return .refused(check)
        case .callback where count(.token) == 0:
            return count(.authorization) == 0 ? .neverSent : .noCodeRedeemed(check)
        default: return .other("\(page.status) \(page.location) \(text)")
        }
    }

    /// What the provider cannot refuse, but a certification notes: `nonce` and `state` can be guessed by nobody, and
    /// have no unusual character.
    private func expectGoodRequest() throws {
        let entry = try #require(last(.pushedAuthorization) ?? last(.authorization))
        var values = ["nonce", "state"].map { entry[$0] }
        if let object = entry["request"] {
            let parts = object.split(separator: ".")
            let claims = try JSONValue(parsing: Base64URL.decode(String(try #require(parts.dropFirst().first))) ?? [])
            values = ["nonce", "state"].map { claims.object?[$0]?.string }
        }
        for value in values {
            let text = try #require(value)
            #expect((22...64).contains(text.utf8.count))
            #expect(Base64URL.decode(text) != nil)
        }
    }
}
