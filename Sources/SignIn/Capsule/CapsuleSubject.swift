import OpenIDConnect
import Primitives

/// A use case whose failures leave capsules. The raw value is the name in capsules.
enum CapsuleFlow: String, Sendable, CaseIterable {
    /// A sign-in with a code that an app brings.
    case code
    /// A sign-in with a TS.43 temporary token.
    case operatorToken = "operator_token"
    /// A sign-in by redirects, from the start to the session.
    case redirect
    case link
    case transaction
    case phoneVerification = "phone_verification"
    case backchannelAuthentication = "backchannel_authentication"
    case backchannelLogout = "backchannel_logout"
}

/// What a failed operation was about: whom it asked, and what was requested. It is made after a failure only, because
/// it costs something. It has secrets and personal data.
struct CapsuleSubject {
    /// What a capsule shows of a requested value.
    enum Value {
        /// A configured name, or one of this program: shown.
        case name(String)
        case flag(Bool)
        case number(Int64)
        /// Shown if it is known, otherwise a pseudonym.
        case text(String)
        /// As ``text(_:)``, each.
        case words([String])
        /// A provider's error code: shown if it is known, otherwise its length.
        case code(String)
        /// Always a pseudonym.
        case secret(Secret)
        /// What an unverified token says: its shape.
        case object(JSONObject)
        /// Several, under their own names.
        case members([Member])
    }

    typealias Member = (name: String, value: Value?)

    /// Who can cause a failure. This limits how many capsules of a minute it may have.
    enum Origin: Sendable, CaseIterable {
        /// A caller with an API key or a session, or a provider that was recognised.
        case known
        /// A sign-in that needs no API key, by redirects or of a page. Anyone can begin any number, and give them
        /// several causes.
        case keyless
        /// A caller who proved nothing: anyone can send any number of it.
        case unauthenticated
    }

    let flow: CapsuleFlow
    /// Of the operation, in the logs.
    let correlationID: String
    /// The provider's name in the configuration.
    let provider: String
    /// Nil if it was not known yet.
    let client: SignInConfiguration.Client?
    let relyingParty: RelyingParty?
    let network: MCCMNC?
    let times: StepTimes
    /// What was requested, besides the members above.
    private(set) var requested: [Member]
    /// The check of a token that is no ID token, if it failed one.
    var check: String?
    /// Configured texts that are shown, besides those of the client and the provider's metadata.
    var known: [String] = []
    /// Who caused the failure.
    var origin = Origin.known
    /// Members of ``requested`` that cost much to make. They are made only if there is a capsule.
    var costly: () -> [Member] = { [] }

    /// The cause of whatever unauthenticated callers send.
    static let unauthenticatedCause = "unauthenticated"

    /// What failed, and where: one of a number of texts that is limited by the configuration, so that no caller can
    /// make more. All that unauthenticated callers send has one cause, so that it displaces nothing else, and what
    /// needs no API key has other causes than what needs one.
    func cause(of error: SignInError) -> String {
        guard origin != .unauthenticated else { return Self.unauthenticatedCause }
        return [
            provider, flow.rawValue, error.code.rawValue, error.errorType.rawValue,
            error.check?.rawValue ?? check ?? "", times.last?.rawValue ?? "", origin == .keyless ? "keyless" : "",
        ]
        .joined(separator: " ")
    }

    /// The subject with the costly members.
    var complete: CapsuleSubject {
        var subject = self
        subject.requested += costly()
        subject.costly = { [] }
        return subject
    }
}

extension CapsuleSubject {
    /// What an unverified token says, and the result of each check.
    /// - Parameters:
    ///   - maximumBytes: The longest text that is read.
    ///   - failed: The check that the token was refused by.
    static func members<Check>(
        ofToken text: Secret, maximumBytes: Int, _ explanation: TokenExplanation<Check>?, failed: Check?
    ) -> [Member] {
        let checks: [Member]? = explanation?.steps.map { step in
            // The keys of that time may be gone: the token was refused by this check all the same.
            let verdict = step.check == failed ? .failed : step.verdict
            return (step.check.rawValue, .name(verdict.rawValue))
        }
        return parts(of: text, maximumBytes: maximumBytes) + [("checks", checks.map { .members($0) })]
    }

    /// What an unverified token says, or what is wrong with its parts.
    private static func parts(of text: Secret, maximumBytes: Int) -> [Member] {
        let size: Member = ("token_bytes", .number(Int64(text.exposed.utf8.count)))
        guard let compact = CompactToken(text, maximumBytes: maximumBytes) else {
            let parts = text.exposed.utf8.reduce(1) { $1 == UInt8(ascii: ".") ? $0 + 1 : $0 }
            return [size, ("token_parts", .number(Int64(parts)))]
        }
        return [
            size, ("header", compact.header.map { .object($0) }),
            ("header_fault", compact.headerPart.fault.map { .name($0) }),
            ("claims", compact.payload.object.map { .object($0) }),
            ("claims_fault", compact.payload.fault.map { .name($0) }),
            ("signature_bytes", compact.signature.length.map { .number(Int64($0)) }),
        ]
    }

    /// A run, or what is made of one.
    private init(_ flow: CapsuleFlow, _ run: SignInRun, _ more: [Member] = []) {
        let request = run.request
        self.init(
            flow: flow, correlationID: run.correlationID.text, provider: request.provider.text, client: run.client,
            relyingParty: run.relyingParty, network: request.network, times: run.log.times,
            requested: [
                ("redirect_uri", request.redirectURI.isEmpty ? nil : .text(request.redirectURI)),
                ("started_here", .flag(request.isRedirectFlow)), ("operator_token", .flag(request.isOperatorToken)),
                ("code", .secret(request.code)), ("has_code_verifier", .flag(request.codeVerifier != nil)),
                ("nonce", request.nonce.map { .secret($0) }),
            ] + request.demand.capsuleMembers + [("max_age", request.demand.maximumAge.map { .number($0) })] + more)
    }

    /// A run that has a log line; nil if it failed before it began a step. A repeated request that is refused as before
    /// began no other step than `recall`: it has the capsule of the first.
    init?(_ run: SignInRun) {
        guard let step = run.log.times.last, step != .recall else { return nil }
        let request = run.request
        let flow: CapsuleFlow =
            switch run.log.kind {
            case .link: .link
            case .transaction: .transaction
            case .signIn, .backchannelAuthentication:
                request.isRedirectFlow ? .redirect : request.isOperatorToken ? .operatorToken : .code
            }
        self.init(flow, run)
        // A link and a transaction have a session.
        if run.log.kind == .signIn, request.isRedirectFlow || request.isKeyless { origin = .keyless }
    }

    /// A verification of a phone number; nil if it failed before the operator was asked.
    init?(_ findings: VerifyPhoneNumber.Findings) {
        guard let run = findings.run, run.log.times.last != nil else { return nil }
        self.init(.phoneVerification, run, [("phone_number", findings.number.map { .secret(Secret($0)) })])
    }

    /// A question to Telco Finder, before an operator is known. Only a verification is certain to have a session: a
    /// sign-in can be one of a page, without an API key.
    init(
        _ flow: CapsuleFlow, _ choice: OperatorChoice, provider: String, _ finder: OperatorFinder,
        _ correlationID: CorrelationID
    ) {
        var times = StepTimes()
        times.begin(.telcoFinder)
        self.init(
            flow: flow, correlationID: correlationID.text, provider: provider, client: finder.rules.client,
            relyingParty: finder.relyingParty, network: nil, times: times,
            requested: [("phone_number", choice.number.map { .secret(Secret($0.text)) })])
        if flow != .phoneVerification { origin = .keyless }
    }
}
