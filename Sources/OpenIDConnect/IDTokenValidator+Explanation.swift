package import Primitives

extension IDTokenValidator {
    /// Goes through every rule, also after one that is not met.
    ///
    /// - Parameter keys: The provider's, or why there are none.
    package func explain(
        _ text: Secret, keys: Result<JSONWebKeySet, OIDCError>, allows: (SigningAlgorithm) -> Bool,
        expecting expectation: IDTokenExpectation, now: Timestamp
    ) -> IDTokenExplanation {
        let compact = CompactToken(text, maximumBytes: rules.maximumBytes)
        let claims = compact?.payload.flatMap(Self.claims)
        var steps = [formatStep(text, compact)]
        steps += headerSteps(compact?.header, allows)
        steps += signatureSteps(compact.flatMap { SignedToken($0) }, keys)
        steps.append(claimsStep(compact, claims))
        steps += claimSteps(claims.map { evidence($0, expectation, now) })
        return IDTokenExplanation(steps: steps, header: compact?.header, claims: claims)
    }

    private func formatStep(_ text: Secret, _ compact: CompactToken?) -> IDTokenExplanation.Step {
        let size = "\(text.exposed.utf8.count) bytes; at most \(rules.maximumBytes) are allowed"
        guard let compact else {
            let parts = text.exposed.utf8.count > rules.maximumBytes ? "" : "; not three parts with dots between"
            return .init(check: .format, verdict: .failed, found: size + parts)
        }
        var faults: [String] = []
        if compact.header == nil { faults.append("the header is not base64url of a JSON object") }
        if compact.header?["kid"].map({ $0.string == nil }) == true { faults.append("kid is not a text") }
        if compact.payload == nil { faults.append("the payload is empty or not base64url") }
        if compact.signature == nil { faults.append("the signature is empty or not base64url") }
        let verdict = IDTokenExplanation.Verdict(compact.isWellFormed)
        return .init(check: .format, verdict: verdict, found: ([size] + faults).joined(separator: "; "))
    }

    private func headerSteps(
        _ header: JSONObject?, _ allows: (SigningAlgorithm) -> Bool
    ) -> [IDTokenExplanation.Step] {
        HeaderRule.all.map { rule in
            guard let header else { return .notPossible(rule.check, "the header cannot be read") }
            return .init(check: rule.check, verdict: .init(rule.isMet(header, allows)), found: rule.found(header))
        }
    }

    private func signatureSteps(
        _ token: SignedToken?, _ keys: Result<JSONWebKeySet, OIDCError>
    ) -> [IDTokenExplanation.Step] {
        guard let token else {
            return SignatureRule.all.map { .notPossible($0.check, "the token is not signed in a known way") }
        }
        switch keys {
        case .success(let keys):
            let evidence = SignatureEvidence(token, keys: keys)
            return SignatureRule.all.map { rule in
                if rule.check == .signature, evidence.candidates.isEmpty {
                    return .notPossible(rule.check, "there is no key to check it with")
                }
                return .init(
                    check: rule.check, verdict: .init(rule.isMet(evidence)), found: rule.found(evidence))
            }
        case .failure(let error):
            return SignatureRule.all.map { rule in
                // The provider has keys, and none of them is one to believe.
                if rule.check == error.check { return .init(check: rule.check, verdict: .failed, found: error.reason) }
                return .notPossible(rule.check, error.reason)
            }
        }
    }

    private func claimsStep(_ compact: CompactToken?, _ claims: JSONObject?) -> IDTokenExplanation.Step {
        guard compact?.payload != nil else { return .notPossible(.claims, "the payload cannot be read") }
        let found = claims.map { "\($0.members.count) claims" } ?? "the payload is not one strict JSON object"
        return .init(check: .claims, verdict: .init(claims != nil), found: found)
    }

    private func claimSteps(_ evidence: ClaimEvidence?) -> [IDTokenExplanation.Step] {
        ClaimRule.all.map { rule in
            guard let evidence else { return .notPossible(rule.check, "the claims cannot be read") }
            return .init(check: rule.check, verdict: .init(rule.isMet(evidence)), found: rule.found(evidence))
        }
    }
}

extension IDTokenExplanation.Verdict {
    fileprivate init(_ isMet: Bool) { self = isMet ? .passed : .failed }
}

extension IDTokenExplanation.Step {
    fileprivate static func notPossible(_ check: IDTokenCheck, _ why: String) -> Self {
        Self(check: check, verdict: .notPossible, found: why)
    }
}
