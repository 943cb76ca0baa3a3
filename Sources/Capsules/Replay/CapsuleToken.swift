import OpenIDConnect
import Primitives
import SignIn

/// The token of a capsule that failed a check: an ID token, a logout token, or a signed authorization response.
struct CapsuleToken {
    private enum Kind {
        case idToken(IDTokenExpectation, issuer: String, at: Timestamp)
        case logoutToken
        case authorizationResponse
    }

    /// What the replay takes from the capsule without computing it, besides results of checks.
    let carriedOver: [String]
    private let kind: Kind
    private let record: RecordedToken

    private typealias ReplayError = CapsuleReplay.ReplayError
    typealias Step = CapsuleReplay.Step

    /// - Throws: ``CapsuleReplay/ReplayError`` if what failed is not a check of such a token, or if the capsule lacks
    ///   the token.
    init(_ capsule: CapsuleReplay) throws(CapsuleReplay.ReplayError) {
        guard let check = capsule.failure.check else { throw Self.noToken }
        let request = capsule.content["request"]?.object
        let results = Self.results(in: capsule.content)
        var standIns = StandIns()
        if let token = capsule.content["id_token"]?.object, results[check] != nil {
            guard token["omitted"] == nil else {
                throw ReplayError(.notReplayable, "the ID token was too long for the capsule")
            }
            kind = try Self.idToken(capsule, results, &standIns)
            record = try RecordedToken(
                token, results.compactMapValues { $0["verdict"]?.string }, IDTokenCheck.self, failed: check, &standIns)
            carriedOver = token["encrypted"]?.bool == true ? ["the decryption of the ID token"] : []
            return
        }
        carriedOver = []
        if request?["flow"]?.string == FailedOperation.Flow.backchannelLogout.rawValue,
            LogoutTokenCheck(rawValue: check) != nil
        {
            kind = .logoutToken
            record = try RecordedToken(unauthenticated: request, LogoutTokenCheck.self, failed: check, &standIns)
        } else if let response = request?["authorization_response"]?.object,
            AuthorizationResponseCheck(rawValue: check) != nil
        {
            kind = .authorizationResponse
            record = try RecordedToken(
                unauthenticated: response, AuthorizationResponseCheck.self, failed: check, &standIns)
        } else {
            throw Self.noToken
        }
    }

    private static let noToken = ReplayError(
        .notReplayable,
        "no check of an ID token, a logout token or a signed authorization response failed, and nothing else is "
            + "replayed")

    /// The results of the checks of the ID token, by their names.
    private static func results(in content: JSONObject) -> [String: JSONObject] {
        var results: [String: JSONObject] = [:]
        for result in content["checks"]?.object?["results"]?.array ?? [] {
            if let result = result.object, let name = result["check"]?.string { results[name] = result }
        }
        return results
    }

    private static func idToken(
        _ capsule: CapsuleReplay, _ results: [String: JSONObject], _ standIns: inout StandIns
    ) throws(CapsuleReplay.ReplayError) -> Kind {
        // Of a native sign-in it may be another than the client.
        let audience = results["audience"]?["expected"]?.string ?? capsule.clientID
        guard let clientID = ClientID(audience), let issuer = results["issuer"]?["expected"]?.string else {
            throw ReplayError(.unreadable, "it does not say whose ID token it was, or for which client")
        }
        let since = results["auth_time"]?["expected"]?.object
        var expectation = IDTokenExpectation(
            clientID: clientID, nonce: try standIns.text(results["nonce"]?["expected"]))
        expectation.demand.acrValues = (results["acr"]?["expected"]?.array ?? []).compactMap(\.string)
        expectation.demand.maximumAge = since?["max_age"]?.integer.map { max(0, $0) }
        expectation.demand.context = try standIns.text(results["context"]?["expected"])
        expectation.demand.since = since?["since"]?.integer.map { Timestamp(secondsSinceEpoch: $0) }
        let flow = capsule.content["request"]?.object?["flow"]?.string
        expectation.nonceMayBeMissing = flow == FailedOperation.Flow.backchannelAuthentication.rawValue
        expectation.nativeAudiences = flow == FailedOperation.Flow.native.rawValue ? [clientID] : []
        let moment = capsule.content["checks"]?.object?["at"]?.integer
        return .idToken(
            expectation, issuer: issuer,
            at: moment.map { Timestamp(secondsSinceEpoch: $0) } ?? capsule.time)
    }

    /// Makes every check of the token, with the rules that sign-ins and logouts use.
    /// - Throws: ``CapsuleReplay/ReplayError`` if the configuration has no such client.
    func steps(_ capsule: CapsuleReplay, _ settings: ReplaySettings) throws(CapsuleReplay.ReplayError) -> [Step] {
        let (clients, relyingParty) = (settings.clients, settings.relyingParty)
        let rules = relyingParty.idTokenRules
        let listed = capsule.content["metadata"]?.object?["id_token_signing_alg_values_supported"]?.array
            .map { Set($0.compactMap { $0.string.flatMap(SigningAlgorithm.init(rawValue:)) }) }
        var configuredIssuer = ""
        if case .ofIssuer(let url) = relyingParty.discovery { configuredIssuer = url.text }
        switch kind {
        case .idToken(var expectation, let issuer, let moment):
            guard let client = ClientID(capsule.clientID).flatMap({ clients[$0] }) else {
                let (name, client) = (CapsuleReplay.shown(capsule.provider), CapsuleReplay.shown(capsule.clientID))
                throw ReplayError(.configuration, "the provider \(name) has no client \(client) in the configuration")
            }
            let accepted = client.signingAlgorithms
            expectation.requiredAudiences = client.requiredAudiences
            expectation.trustedAudiences = Set(client.trustedAudiences)
            return record.steps(
                IDTokenValidator(rules: rules, issuer: issuer).explain(
                    record.token, signedWith: listed?.intersection(accepted) ?? accepted, expecting: expectation,
                    now: moment))
        case .logoutToken:
            return record.steps(
                record.token.explainedAsLogoutToken(
                    of: configuredIssuer, for: clients.mapValues(\.signingAlgorithms), rules, at: capsule.time,
                    listed: listed))
        case .authorizationResponse:
            return record.steps(
                record.token.explainedAsAuthorizationResponse(
                    of: configuredIssuer, for: clients.mapValues(\.responseSigningAlgorithm), rules,
                    at: capsule.time))
        }
    }
}

/// What a capsule has of a token: the header and the claims, and the results of the checks that need more.
private struct RecordedToken {
    /// The checks that need the token's text, or the provider's keys.
    private static let checksOfText: Set = ["format", "key", "signature", "claims"]

    let token: TokenExamination
    /// By the names of the checks.
    private let verdicts: [String: TokenVerdict]

    /// The results of an explanation of ``token``. In the place of those that it cannot have are the recorded ones; the
    /// capsule lacks some of the expected values, and has what the comparison with them gave.
    func steps(_ explanation: TokenExplanation<some TokenCheck>) -> [CapsuleReplay.Step] {
        explanation.steps.map { step in
            let name = step.check.rawValue
            let verdict = verdicts[name]
            guard step.verdict == .notCompared || Self.checksOfText.contains(name),
                let verdict, verdict == .passed || verdict == .failed
            else { return (name, step.check.demand, step.verdict, step.found, false) }
            return (name, step.check.demand, verdict, "as recorded", true)
        }
    }

    /// A token that anyone can send, with the results of its checks.
    init<Check: TokenCheck & CaseIterable>(
        unauthenticated parts: JSONObject?, _ checks: Check.Type, failed: String, _ standIns: inout StandIns
    ) throws(CapsuleReplay.ReplayError) {
        guard let parts, parts["token_bytes"] != nil else {
            throw CapsuleReplay.ReplayError(
                .notReplayable, "it does not have the parts of the token, as capsules of earlier versions do not")
        }
        var results: [String: String] = [:]
        for result in parts["checks"]?.object?.members ?? [] { results[result.name] = result.value.string }
        try self.init(parts, results, checks, failed: failed, &standIns)
    }

    /// - Parameters:
    ///   - parts: The header and the claims as the capsule has them.
    ///   - results: Of the checks, as far as the capsule has them. One before the check that failed had passed.
    init<Check: TokenCheck & CaseIterable>(
        _ parts: JSONObject, _ results: [String: String], _: Check.Type, failed: String, _ standIns: inout StandIns
    ) throws(CapsuleReplay.ReplayError) {
        for part in ["header", "claims"] {
            let members = parts[part]?.object?.members ?? []
            guard !members.contains(where: { CapsuleVocabulary.names.contains($0.name) && $0.value == "…" }) else {
                throw CapsuleReplay.ReplayError(
                    .notReplayable, "the capsule had no room for all members of the \(part)")
            }
        }
        var verdicts = results.compactMapValues(TokenVerdict.init(rawValue:))
        for check in Check.allCases.map(\.rawValue).prefix(while: { $0 != failed }) where results[check] == nil {
            verdicts[check] = .passed
        }
        verdicts[failed] = .failed
        var claims: JSONObject?
        if let shown = parts["claims"]?.object { claims = try standIns.claims(shown) }
        token = TokenExamination(header: parts["header"]?.object, claims: claims)
        self.verdicts = verdicts
    }
}
