package import Primitives

/// The explanation of a token: the steps that all kinds of token have in common.
struct TokenExamination<Check: MessageCheck> {
    typealias Step = TokenExplanation<Check>.Step

    private enum Source {
        /// Nil if the text is not one of three parts, or too long. The keys are the provider's, or why there are none.
        case text(Secret, CompactToken?, maximumBytes: Int, keys: Result<JSONWebKeySet, OIDCError>)
        case record([String: TokenVerdict])
    }

    private let source: Source
    private let type: TokenType
    private let header: JSONObject?
    let claims: JSONObject?

    init(_ text: Secret, _ type: TokenType, _ rules: IDTokenRules, keys: Result<JSONWebKeySet, OIDCError>) {
        let compact = CompactToken(text, maximumBytes: rules.maximumBytes)
        source = .text(text, compact, maximumBytes: rules.maximumBytes, keys: keys)
        self.type = type
        header = compact?.header
        claims = compact?.payload.object
    }

    init(_ record: RecordedToken, _ type: TokenType) {
        source = .record(record.verdicts)
        self.type = type
        header = record.header
        claims = record.claims
    }

    func explanation(_ steps: [Step]) -> TokenExplanation<Check> {
        TokenExplanation(steps: steps, header: header, claims: claims)
    }

    var formatStep: Step {
        guard case .text(let text, let compact, let maximumBytes, _) = source else { return recorded(.format) }
        let size = "\(text.exposed.utf8.count) bytes; at most \(maximumBytes) are allowed"
        guard let compact else {
            let parts = text.exposed.utf8.count > maximumBytes ? "" : "; not three parts with dots between"
            return Step(check: .format, verdict: .failed, found: size + parts)
        }
        var faults: [String] = []
        if compact.header == nil { faults.append("the header is not base64url of a JSON object") }
        if compact.header?["kid"].map({ $0.string == nil }) == true { faults.append("kid is not a text") }
        if compact.payload.bytes == nil { faults.append("the payload is empty or not base64url") }
        if compact.signature.bytes == nil { faults.append("the signature is empty or not base64url") }
        return Step(
            check: .format, verdict: TokenVerdict(compact.isWellFormed),
            found: ([size] + faults).joined(separator: "; "))
    }

    /// How the token is marked; nil for another kind of token, or if the header cannot be read.
    var idTokenType: IDTokenType? { header.flatMap { IDTokenType($0["typ"]) } }

    var algorithm: SigningAlgorithm? { header?["alg"]?.string.flatMap(SigningAlgorithm.init(rawValue:)) }

    func headerSteps(_ allows: (SigningAlgorithm) -> Bool) -> [Step] {
        HeaderRule.all.map { rule in
            guard let header else { return notPossible(Check(rule.check), "the header cannot be read") }
            return Step(
                check: Check(rule.check), verdict: TokenVerdict(rule.isMet(header, type, allows)),
                found: rule.found(header, type))
        }
    }

    var signatureSteps: [Step] {
        let rules = SignatureValidationContext.signatureRules
        guard case .text(_, let compact, _, let keys) = source else { return rules.map { recorded(Check($0.check)) } }
        guard let token = compact.flatMap({ SignedToken($0) }) else {
            return rules.map { notPossible(Check($0.check), "the token is not signed in a known way") }
        }
        switch keys {
        case .success(let keys):
            let context = SignatureValidationContext(token, keys: keys)
            return rules.map { rule in
                if rule.check == .signature, context.candidates.isEmpty {
                    return notPossible(Check(rule.check), "there is no key to check it with")
                }
                return Step(
                    check: Check(rule.check), verdict: TokenVerdict(rule.isMet(context)), found: rule.found(context))
            }
        case .failure(let error):
            return rules.map { rule in
                // The provider has keys, and none of them can be trusted.
                guard rule.check == error.check else { return notPossible(Check(rule.check), error.reason) }
                return Step(check: Check(rule.check), verdict: .failed, found: error.reason)
            }
        }
    }

    var claimsStep: Step {
        guard case .text(_, let compact, _, _) = source else { return recorded(.claims) }
        guard compact?.payload.bytes != nil else { return notPossible(.claims, "the payload cannot be read") }
        let found = claims.map { "\($0.members.count) claims" } ?? "the payload is not one strict JSON object"
        return Step(check: .claims, verdict: TokenVerdict(claims != nil), found: found)
    }

    /// - Parameter context: Nil if the claims cannot be read.
    func claimSteps<Context>(_ rules: [TokenRule<Check, Context>], _ context: Context?) -> [Step] {
        rules.map { rule in
            guard let context else { return notPossible(rule.check, "the claims cannot be read") }
            let verdict = TokenVerdict(rule.isMet(context))
            guard verdict == .passed, !rule.hasExpectedValue(context) else {
                return Step(check: rule.check, verdict: verdict, found: rule.found(context))
            }
            // A record lacks some of the expected values, and has what the comparison with them gave.
            let step = recorded(rule.check)
            guard step.verdict == .notPossible else { return step }
            return Step(check: rule.check, verdict: .notCompared, found: rule.found(context))
        }
    }

    /// A check whose result is not computed; not possible if there is no record of it.
    private func recorded(_ check: Check) -> Step {
        guard case .record(let verdicts) = source, let verdict = verdicts[check.rawValue],
            verdict == .passed || verdict == .failed
        else { return notPossible(check, "there is no record of its result") }
        return Step(check: check, verdict: verdict, found: "as recorded", isRecorded: true)
    }

    private func notPossible(_ check: Check, _ why: String) -> Step {
        Step(check: check, verdict: .notPossible, found: why)
    }
}

/// What a capsule has of a token: the header and the claims, and the results of the checks that need more.
package struct RecordedToken: Sendable {
    let header: JSONObject?
    let claims: JSONObject?
    /// By the names of the checks.
    let verdicts: [String: TokenVerdict]

    package init(header: JSONObject?, claims: JSONObject?, verdicts: [String: TokenVerdict]) {
        self.header = header
        self.claims = claims
        self.verdicts = verdicts
    }

    /// Applies the rules of logout tokens to it.
    /// - Parameters:
    ///   - clients: Our clients, each with what its tokens may be signed with.
    ///   - allows: Whether the provider signs with an algorithm.
    package func explainedAsLogoutToken(
        of issuer: String, for clients: [ClientID: Set<SigningAlgorithm>], _ rules: IDTokenRules, at moment: Timestamp,
        allows: (SigningAlgorithm) -> Bool
    ) -> LogoutTokenExplanation {
        LogoutValidationContext.explain(
            TokenExamination(self, .logoutToken),
            .init(issuer: issuer, clients: clients, rules: rules, now: moment), allows: allows)
    }

    /// Applies the rules of signed authorization responses to it.
    /// - Parameter clients: Our clients, each with what its responses are signed with.
    package func explainedAsAuthorizationResponse(
        of issuer: String, for clients: [ClientID: SigningAlgorithm], _ rules: IDTokenRules, at moment: Timestamp
    ) -> AuthorizationResponseExplanation {
        AuthorizationResponseValidationContext.explain(
            TokenExamination(self, .authorizationResponse),
            .init(issuer: issuer, clients: clients.mapValues { [$0] }, rules: rules, now: moment))
    }
}
