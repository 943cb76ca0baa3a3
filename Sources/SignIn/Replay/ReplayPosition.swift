import OpenIDConnect

/// How far an operation came: what a replay compares if the capsule has no response to a request.
enum ReplayPosition: Int, Comparable, Sendable {
    case start, discovery, attempt
    /// The request for tokens, or the one that begins a sign-in.
    case request
    /// The checks of a token that need no keys.
    case header
    case keys, validate, userInfo, store

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension CapsuleReplay.Failure {
    /// The checks of an ID token that need no keys.
    private static let checksOfHeader: [IDTokenCheck] = [.encryption, .format, .criticalHeader, .type, .algorithm]

    private var isOfHeader: Bool { Self.checksOfHeader.contains { $0.rawValue == check } }

    /// How far the redemption of a code came.
    var positionOfCode: ReplayPosition {
        switch step.flatMap(SignInReport.Step.init(rawValue:)) {
        case .recall: .start
        case .attempt: .attempt
        case .token: .request
        case .validate where isOfHeader: .header
        case .keys: .keys
        case .validate: .validate
        case .userinfo: .userInfo
        case .migrate, .store: .store
        default: .discovery
        }
    }

    /// How far the validation of an ID token came; nil for a failure without a check, which is that of a request.
    var positionOfCheck: ReplayPosition? {
        guard let check else { return nil }
        if isOfHeader { return .header }
        return check == IDTokenCheck.userInfoSubject.rawValue ? .userInfo : .validate
    }

    /// How far the validation of a token came that anyone can send, whose checks without keys come first; nil for a
    /// failure without a check, which is that of a request.
    var positionOfUnauthenticated: ReplayPosition? {
        guard let check else { return nil }
        return [IDTokenCheck.key.rawValue, IDTokenCheck.signature.rawValue].contains(check) ? .validate : .start
    }
}

extension RebuiltResponses.Question {
    /// Where it is among the steps.
    var position: ReplayPosition {
        switch self {
        case .discovery, .issuer, .other: .discovery
        case .token, .pushedAuthorization, .backchannelAuthentication: .request
        case .keys: .keys
        case .userInfo: .userInfo
        }
    }
}
