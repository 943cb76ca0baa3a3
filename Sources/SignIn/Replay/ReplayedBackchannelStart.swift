import OpenIDConnect
import Primitives
import StorageModel

extension BackchannelAuthenticationRecord.Terms {
    /// - Parameter request: The member of a capsule, with made-up values.
    init(_ capsule: CapsuleReplay, _ request: JSONObject?) {
        func words(_ name: String) -> String? {
            request?[name]?.array.map { $0.compactMap(\.string).joined(separator: " ") }
        }
        self.init(
            provider: capsule.provider, clientID: capsule.clientID, network: request?["mccmnc"]?.string ?? "",
            redirectURI: request?["redirect_uri"]?.string ?? "", scope: words("scopes") ?? "",
            loginHint: Secret(request?["login_hint"]?.string ?? ""),
            correlationID: CorrelationID.random(from: .system).text)
        acrValues = words("acr_values")
        context = request?["context"]?.string
        prompt = words("prompt")
    }
}

/// The start of a backchannel authentication at a carrier: discovery, and whether the carrier can be asked. The
/// carrier's response is in no capsule.
struct ReplayedBackchannelStart: ReplayedFlow {
    private let terms: BackchannelAuthenticationRecord.Terms
    private let failedAtDiscovery: Bool
    let position: ReplayPosition?

    init(_ capsule: CapsuleReplay, _ rebuilt: inout RebuiltSignIn) throws(CapsuleReplay.Refusal) {
        terms = BackchannelAuthenticationRecord.Terms(capsule, try rebuilt.made(capsule.request))
        failedAtDiscovery = capsule.failure.step == SignInReport.Step.discovery.rawValue
        // The step of a request that failed is that of storing its failure.
        position = failedAtDiscovery ? .discovery : .request
        rebuilt.carriedOver.append("that this server has a public_url, where the carrier notifies it")
    }

    func run(_ scene: ReplayScene) async -> ReplayOutcome {
        do throws(SignInError) {
            let context = try await BackchannelAuthenticationContext.find(
                terms, scene.configuration, scene.relyingParties)
            _ = try context.carrierRequest(
                notifiedAt: EndpointURL("https://latchkey.invalid/notification", policy: .allowLoopbackHTTP))
        } catch {
            return ReplayOutcome(error, .discovery)
        }
        guard !failedAtDiscovery else { return ReplayOutcome() }
        return ReplayOutcome(undecided: "the carrier's response to the request is not in a capsule")
    }
}
