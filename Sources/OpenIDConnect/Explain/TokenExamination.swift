package import Primitives

/// A token to explain, and the steps that the explanations of all kinds of token have in common.
package struct TokenExamination: Sendable {
    private struct Text: Sendable {
        let text: Secret
        /// Nil if the text is not one of three parts, or too long.
        let compact: CompactToken?
        let maximumBytes: Int
        /// The provider's, or why there are none.
        let keys: Result<JSONWebKeySet, OIDCError>
    }

    private let text: Text?
    let header: TokenHeader?
    let claims: JSONObject?

    /// - Parameter keys: The provider's, or why there are none.
    package init(_ text: Secret, _ rules: IDTokenRules, keys: Result<JSONWebKeySet, OIDCError>) {
        let compact = CompactToken(text, maximumBytes: rules.maximumBytes)
        self.text = Text(text: text, compact: compact, maximumBytes: rules.maximumBytes, keys: keys)
        header = compact?.header
        claims = compact?.payload.object
    }

    /// A token of which only these are known. The checks of the text and of the signature are not possible.
    package init(header: JSONObject?, claims: JSONObject?) {
        text = nil
        self.header = header.map { TokenHeader($0) }
        self.claims = claims
    }

    /// Makes every check of a logout token.
    /// - Parameter listed: What the provider signs with; nil if that is not known.
    package func explainedAsLogoutToken(
        of issuer: String, for clients: [ClientID: Set<SigningAlgorithm>], _ rules: IDTokenRules, at moment: Timestamp,
        listed: Set<SigningAlgorithm>?
    ) -> LogoutTokenExplanation {
        LogoutValidationContext.explain(
            self, .init(issuer: issuer, clients: clients, rules: rules, now: moment), listed: listed)
    }

    package func explainedAsAuthorizationResponse(
        of issuer: String, for clients: [ClientID: SigningAlgorithm], _ rules: IDTokenRules, at moment: Timestamp
    ) -> AuthorizationResponseExplanation {
        AuthorizationResponseValidationContext.explain(
            self, .init(issuer: issuer, clients: clients.mapValues { [$0] }, rules: rules, now: moment))
    }

    func explanation<Check>(_ steps: [[TokenExplanation<Check>.Step]]) -> TokenExplanation<Check> {
        TokenExplanation(steps: Array(steps.joined()), header: header?.members, claims: claims)
    }

    func formatSteps<Check: MessageCheck>() -> [TokenExplanation<Check>.Step] {
        guard let text else { return [.withoutText(.format)] }
        let size = "\(text.text.exposed.utf8.count) bytes; at most \(text.maximumBytes) are allowed"
        guard let compact = text.compact else {
            let parts = text.text.exposed.utf8.count > text.maximumBytes ? "" : "; not three parts with dots between"
            return [.init(check: .format, verdict: .failed, found: size + parts)]
        }
        var faults: [String] = []
        if compact.header == nil { faults.append("the header is not base64url of a JSON object") }
        if compact.header?.isWellFormed == false { faults.append("kid is not a text") }
        if compact.payload.bytes == nil { faults.append("the payload is empty or not base64url") }
        if compact.signature.bytes == nil { faults.append("the signature is empty or not base64url") }
        let found = ([size] + faults).joined(separator: "; ")
        return [.init(check: .format, verdict: TokenVerdict(compact.isWellFormed), found: found)]
    }

    func headerSteps<Check: MessageCheck>(
        _ type: TokenType, _ algorithms: Set<SigningAlgorithm>
    ) -> [TokenExplanation<Check>.Step] {
        let context = header.map { HeaderValidationContext(header: $0, type: type, algorithms: algorithms) }
        return steps(HeaderValidationContext.headerRules, context, otherwise: "the header cannot be read") { Check($0) }
    }

    func signatureSteps<Check: MessageCheck>(of tenants: TenantIssuers? = nil) -> [TokenExplanation<Check>.Step] {
        let rules = SignatureValidationContext.signatureRules
        guard let text else { return rules.map { .withoutText(Check($0.check)) } }
        guard let token = text.compact.flatMap({ SignedToken($0) }) else {
            return rules.map { .notPossible(Check($0.check), "the token is not signed in a known way") }
        }
        switch text.keys {
        case .success(let keys):
            let context = SignatureValidationContext(token, keys: keys.keys(of: tenants, for: token))
            return rules.map { rule in
                if rule.check == .signature, context.candidates.isEmpty {
                    return .notPossible(Check(rule.check), "there is no key to check it with")
                }
                return .init(
                    check: Check(rule.check), verdict: TokenVerdict(rule.isMet(context)), found: rule.found(context))
            }
        case .failure(let error):
            return rules.map { rule in
                // The provider has keys, and none of them can be trusted.
                guard rule.check == error.check else { return .notPossible(Check(rule.check), error.reason) }
                return .init(check: Check(rule.check), verdict: .failed, found: error.reason)
            }
        }
    }

    func claimsSteps<Check: MessageCheck>() -> [TokenExplanation<Check>.Step] {
        guard let text else { return [.withoutText(.claims)] }
        guard text.compact?.payload.bytes != nil else { return [.notPossible(.claims, "the payload cannot be read")] }
        let found = claims.map { "\($0.members.count) claims" } ?? "the payload is not one strict JSON object"
        return [.init(check: .claims, verdict: TokenVerdict(claims != nil), found: found)]
    }

    /// - Parameter context: Nil if the claims cannot be read.
    func claimSteps<Check, Context>(
        _ rules: [TokenRule<Check, Context>], _ context: Context?
    ) -> [TokenExplanation<Check>.Step] {
        steps(rules, context, otherwise: "the claims cannot be read") { $0 }
    }

    private func steps<Check, Rule, Context>(
        _ rules: [TokenRule<Rule, Context>], _ context: Context?, otherwise fault: String, as check: (Rule) -> Check
    ) -> [TokenExplanation<Check>.Step] {
        rules.map { rule in
            guard let context else { return .notPossible(check(rule.check), fault) }
            let verdict: TokenVerdict =
                !rule.isMet(context) ? .failed : rule.hasExpectedValue(context) ? .passed : .notCompared
            return .init(check: check(rule.check), verdict: verdict, found: rule.found(context))
        }
    }
}

extension TokenExplanation.Step {
    fileprivate static func notPossible(_ check: Check, _ why: String) -> Self {
        Self(check: check, verdict: .notPossible, found: why)
    }

    fileprivate static func withoutText(_ check: Check) -> Self {
        notPossible(check, "the text of the token is not known")
    }
}
