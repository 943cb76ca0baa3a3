import OpenIDConnect
import Primitives

extension AuthorizationResponse {
    /// - Parameter shown: The member of a capsule, with made-up values.
    fileprivate init(_ shown: JSONObject, provider: String) {
        self.init(provider: provider)
        state = shown["state"]?.string.map(Secret.init)
        code = shown["code"]?.string.map(Secret.init)
        network = shown["mccmnc"]?.string.flatMap(MCCMNC.init)
        error = shown["error"]?.string.map(CapsuleReplay.errorCode)
        issuer = shown["iss"]?.string
        clientID = shown["signed_for"]?.string.flatMap(ClientID.init)
    }
}

extension CapsuleReplay {
    /// The error code that a capsule shows, or one of the same length as the one that it does not show.
    static func errorCode(_ shown: String) -> String {
        let words = shown.split(ascii: " ")
        guard shown.hasPrefix("another code of "), words.count == 5, let count = Int(words[3]),
            (0...1024).contains(count)
        else { return shown }
        return String(repeating: "x", count: count)
    }
}

/// The response to a sign-in by redirects that is known, up to the code.
struct ReplayedCallback: ReplayedFlow {
    private let pending: PendingRedirect
    private let response: AuthorizationResponse
    private let browserMatches: Bool
    /// The one request is that for the metadata.
    let position: ReplayPosition? = nil

    init(_ capsule: CapsuleReplay, _ rebuilt: inout RebuiltSignIn) throws(CapsuleReplay.Refusal) {
        let request = try rebuilt.made(capsule.request)
        guard let shown = request?["authorization_response"]?.object,
            let browserMatches = request?["browser_matches"]?.bool
        else {
            throw CapsuleReplay.Refusal(
                .notReplayable, "it does not say whose browser it was, as capsules of earlier versions do not")
        }
        pending = try PendingRedirect(capsule, request, rebuilt.client.id)
        response = AuthorizationResponse(shown, provider: capsule.provider)
        self.browserMatches = browserMatches
        rebuilt.carriedOver.append("that state is that of a sign-in that was under way")
        rebuilt.carriedOver.append("that the browser is \(browserMatches ? "" : "not ")the one that began the sign-in")
    }

    func run(_ scene: ReplayScene) async -> ReplayOutcome {
        guard browserMatches else { return ReplayOutcome(.otherBrowser) }
        let rules = RedirectRules(configuration: scene.configuration, relyingParties: scene.relyingParties)
        do throws(SignInError) {
            switch try await rules.accept(response, for: pending) {
            case .carrier: return ReplayOutcome()
            case .code:
                return ReplayOutcome(undecided: "whether another sign-in brought the code, the database decides")
            }
        } catch {
            return ReplayOutcome(error)
        }
    }
}
