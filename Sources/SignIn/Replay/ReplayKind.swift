import Primitives

/// What kind of operation a capsule is of, as far as replays differ.
enum ReplayKind: Sendable {
    /// A code is redeemed.
    case code
    /// A browser is sent to the provider.
    case redirectStart
    /// A browser brings the response to a sign-in that is known.
    case callback
    /// A browser brings a response that belongs to no sign-in.
    case strayCallback
    case logout
    /// A carrier is asked to authenticate a user.
    case backchannelStart
    /// A carrier notifies of the outcome.
    case notification
    /// A notification comes with an unknown token.
    case strayNotification

    /// Whether the capsule names a client.
    var needsClient: Bool {
        switch self {
        case .code, .redirectStart, .callback, .backchannelStart, .notification: true
        case .strayCallback, .logout, .strayNotification: false
        }
    }

    /// - Parameter request: The member of the capsule.
    /// - Throws: ``CapsuleReplay/Refusal/Code/notReplayable`` for an operation that is not replayed.
    init(_ request: JSONObject, _ failure: CapsuleReplay.Failure) throws(CapsuleReplay.Refusal) {
        let step = failure.step.flatMap(SignInReport.Step.init(rawValue:))
        let hasClient = request["client_id"]?.string != nil
        switch request["flow"]?.string.flatMap(CapsuleFlow.init(rawValue:)) {
        case .code, .redirect, .link, .transaction:
            guard request["operator_token"]?.bool != true else { throw Self.refusal("a temporary token") }
            if request["code"]?.string != nil {
                guard step.map(Self.stepsOfCode.contains) == true else { throw Self.refusal("a number") }
                self = .code
            } else if request["authorization_response"]?.object != nil {
                self = hasClient ? .callback : .strayCallback
            } else {
                guard step == .discovery || step == .pushedAuthorization else { throw Self.refusal("a number") }
                self = .redirectStart
            }
        case .backchannelLogout: self = .logout
        case .backchannelAuthentication:
            switch request["operation"]?.string {
            case "start" where request["delivery_mode"] == nil: self = .backchannelStart
            case "notification": self = hasClient ? .notification : .strayNotification
            default: throw Self.refusal("a poll, or a request to a provider that is no carrier,")
            }
        case .operatorToken, .phoneVerification: throw Self.refusal("a number")
        case nil: throw CapsuleReplay.Refusal(.notReplayable, "it is of a flow that this version does not know")
        }
    }

    private static let stepsOfCode: Set<SignInReport.Step> = [
        .recall, .discovery, .attempt, .token, .keys, .validate, .userinfo, .migrate, .store,
    ]

    private static func refusal(_ what: String) -> CapsuleReplay.Refusal {
        CapsuleReplay.Refusal(.notReplayable, "what \(what) led to is not replayed")
    }

    /// The flow with what the capsule says of it.
    func flow(
        of capsule: CapsuleReplay, _ rebuilt: inout RebuiltSignIn
    ) throws(CapsuleReplay.Refusal) -> any ReplayedFlow {
        switch self {
        case .code: ReplayedCode(capsule, rebuilt)
        case .redirectStart: try ReplayedRedirectStart(capsule, &rebuilt)
        case .callback: try ReplayedCallback(capsule, &rebuilt)
        case .strayCallback: try ReplayedStrayCallback(capsule, &rebuilt)
        case .logout: try ReplayedLogout(capsule, &rebuilt)
        case .backchannelStart: try ReplayedBackchannelStart(capsule, &rebuilt)
        case .notification: try ReplayedNotification(capsule, &rebuilt)
        case .strayNotification: ReplayedStrayNotification()
        }
    }
}

extension CapsuleReplay {
    /// The member `request`.
    var request: JSONObject? { content["request"]?.object }

    /// The parts of a logout token or of a signed authorization response; nil if the capsule has none.
    static func otherToken(in content: JSONObject) -> JSONObject? {
        let request = content["request"]?.object
        return [request, request?["authorization_response"]?.object].compactMap(\.self).first { $0["header"] != nil }
    }
}
