import OpenIDConnect
import Primitives
import StorageModel

extension PendingRedirect {
    /// A sign-in by redirects that was under way, made of a capsule.
    /// - Parameter request: The member of the capsule, with made-up values.
    /// - Throws: ``CapsuleReplay/Refusal/Code/unreadable`` if it lacks what every such request has.
    init(
        _ capsule: CapsuleReplay, _ request: JSONObject?, _ client: ClientID
    ) throws(CapsuleReplay.Refusal) {
        guard let request, let clientType = request["client_type"]?.string.flatMap(ClientType.init(rawValue:)) else {
            throw CapsuleReplay.Refusal(.unreadable, "its request has no client_type")
        }
        var start = RedirectStart(
            provider: capsule.provider, clientType: clientType, redirectURI: request["redirect_uri"]?.string ?? "",
            callbackURL: "https://latchkey.invalid/auth/callback")
        start.network = request["mccmnc"]?.string.flatMap(MCCMNC.init)
        start.scopes = (request["scopes"]?.array ?? []).compactMap(\.string)
        start.acrValues = (request["acr_values"]?.array ?? []).compactMap(\.string)
        start.context = request["context"]?.string
        start.prompt = request["prompt"]?.string.map(Prompt.stored) ?? []
        start.loginHint = request["login_hint"]?.string
        self.init(start: start, clientID: client, correlationID: .random(from: .system), browserHash: nil)
        authentication.maximumAge = request["max_age"]?.integer
        guard request["sent_to"]?.string == "authorization" else { return }
        leg = .authorization(
            network: start.network, nonce: Secret(request["nonce"]?.string ?? ""),
            codeVerifier: .random(from: .system))
    }
}

/// The start of a sign-in by redirects: discovery, and the pushed authorization request if there is one.
struct ReplayedRedirectStart: ReplayedFlow {
    private let pending: PendingRedirect
    let position: ReplayPosition?

    init(_ capsule: CapsuleReplay, _ rebuilt: inout RebuiltSignIn) throws(CapsuleReplay.Refusal) {
        pending = try PendingRedirect(capsule, try rebuilt.made(capsule.request), rebuilt.client.id)
        let isPushed = capsule.failure.step == SignInReport.Step.pushedAuthorization.rawValue
        position = isPushed ? .request : .discovery
    }

    func run(_ scene: ReplayScene) async -> ReplayOutcome {
        let rules = RedirectRules(configuration: scene.configuration, relyingParties: scene.relyingParties)
        var pending = pending
        let provider: ProviderMetadata
        do throws(SignInError) {
            provider = try await rules.discover(pending.start.network, for: pending)
        } catch {
            return ReplayOutcome(error, .discovery)
        }
        pending.dpopKey = scene.relyingParty.newDPoPKey(at: provider)
        let request = rules.authorizationRequest(
            pending, state: Secret(RandomSource.system.token()),
            nonce: provider.userEndpoint == nil ? Secret(RandomSource.system.token()) : nil,
            challenge: CodeVerifier.random(from: .system).challenge, loginHintToken: nil)
        do throws(OIDCError) {
            _ = try await scene.relyingParty.destination(
                of: request, client: scene.client.credentials, signedWith: scene.client.signingKey,
                provider: provider, correlationID: scene.correlationID)
            return ReplayOutcome()
        } catch {
            let kind = scene.configuration.providers[scene.provider]?.kind
            return ReplayOutcome(.notPushed(error, at: kind), .pushedAuthorization)
        }
    }
}
