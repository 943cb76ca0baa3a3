import Primitives

/// The explanation of a token: the steps that all kinds of token have in common.
struct TokenExamination<Check: TokenCheck> {
    typealias Step = TokenExplanation<Check>.Step

    private let text: Secret
    private let type: TokenType
    private let rules: IDTokenRules
    /// The name that a check has for this kind of token.
    private let named: (IDTokenCheck) -> Check
    private let compact: CompactToken?
    let claims: JSONObject?

    init(_ text: Secret, _ type: TokenType, _ rules: IDTokenRules, named: @escaping (IDTokenCheck) -> Check) {
        self.text = text
        self.type = type
        self.rules = rules
        self.named = named
        compact = CompactToken(text, maximumBytes: rules.maximumBytes)
        claims = compact?.payload.flatMap(IDTokenValidator.claims)
    }

    func explanation(_ steps: [Step]) -> TokenExplanation<Check> {
        TokenExplanation(steps: steps, header: compact?.header, claims: claims)
    }

    var formatStep: Step {
        let size = "\(text.exposed.utf8.count) bytes; at most \(rules.maximumBytes) are allowed"
        guard let compact else {
            let parts = text.exposed.utf8.count > rules.maximumBytes ? "" : "; not three parts with dots between"
            return Step(check: named(.format), verdict: .failed, found: size + parts)
        }
        var faults: [String] = []
        if compact.header == nil { faults.append("the header is not base64url of a JSON object") }
        if compact.header?["kid"].map({ $0.string == nil }) == true { faults.append("kid is not a text") }
        if compact.payload == nil { faults.append("the payload is empty or not base64url") }
        if compact.signature == nil { faults.append("the signature is empty or not base64url") }
        return Step(
            check: named(.format), verdict: TokenVerdict(compact.isWellFormed),
            found: ([size] + faults).joined(separator: "; "))
    }

    /// How the token is marked; nil for another kind of token, or if the header cannot be read.
    var idTokenType: IDTokenType? { compact?.header.flatMap { IDTokenType($0["typ"]) } }

    var algorithm: SigningAlgorithm? { compact?.algorithm }

    func headerSteps(_ allows: (SigningAlgorithm) -> Bool) -> [Step] {
        HeaderRule.all.map { rule in
            guard let header = compact?.header else { return notPossible(rule.check, "the header cannot be read") }
            return Step(
                check: named(rule.check), verdict: TokenVerdict(rule.isMet(header, type, allows)),
                found: rule.found(header, type))
        }
    }

    func signatureSteps(_ keys: Result<JSONWebKeySet, OIDCError>) -> [Step] {
        let rules = SignatureValidationContext.signatureRules
        guard let token = compact.flatMap({ SignedToken($0) }) else {
            return rules.map { notPossible($0.check, "the token is not signed in a known way") }
        }
        switch keys {
        case .success(let keys):
            let context = SignatureValidationContext(token, keys: keys)
            return rules.map { rule in
                if rule.check == .signature, context.candidates.isEmpty {
                    return notPossible(rule.check, "there is no key to check it with")
                }
                return Step(
                    check: named(rule.check), verdict: TokenVerdict(rule.isMet(context)), found: rule.found(context))
            }
        case .failure(let error):
            return rules.map { rule in
                // The provider has keys, and none of them can be trusted.
                guard rule.check == error.check else { return notPossible(rule.check, error.reason) }
                return Step(check: named(rule.check), verdict: .failed, found: error.reason)
            }
        }
    }

    var claimsStep: Step {
        guard compact?.payload != nil else { return notPossible(.claims, "the payload cannot be read") }
        let found = claims.map { "\($0.members.count) claims" } ?? "the payload is not one strict JSON object"
        return Step(check: named(.claims), verdict: TokenVerdict(claims != nil), found: found)
    }

    /// - Parameter context: Nil if the claims cannot be read.
    func claimSteps<Context>(_ rules: [TokenRule<Check, Context>], _ context: Context?) -> [Step] {
        rules.map { rule in
            guard let context else {
                return Step(check: rule.check, verdict: .notPossible, found: "the claims cannot be read")
            }
            let verdict = TokenVerdict(rule.isMet(context))
            let isUncompared = verdict == .passed && !rule.compares(context)
            return Step(
                check: rule.check, verdict: isUncompared ? .notCompared : verdict, found: rule.found(context))
        }
    }

    private func notPossible(_ check: IDTokenCheck, _ why: String) -> Step {
        Step(check: named(check), verdict: .notPossible, found: why)
    }
}
