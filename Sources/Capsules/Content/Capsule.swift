import OpenIDConnect
import Primitives
import SignIn

/// The capsule of a failed sign-in: its cause, and what was requested, received and checked.
///
/// It is made of what it may contain: names and values of specifications, configured values, times, sizes, and
/// pseudonyms. No secret, code, token, subject or attribute is in it. docs/operations.md describes the members.
struct Capsule {
    /// The longest text of a capsule, in bytes. A longer one is made without the contents of responses, and if it is
    /// still longer, without those of the ID token.
    static let maximumBytes = 32 * 1024
    /// The most keys of a set that are shown.
    private static let maximumKeys = 16
    /// The format of this version.
    static let format = 2

    /// A failed operation, and what was recorded of it. It has secrets and personal data.
    struct Source {
        let operation: FailedOperation
        /// Its ``FailedOperation/requested`` and ``FailedOperation/costly`` members.
        let requested: [FailedOperation.Member]
        let error: SignInError
        let record: ProtocolRecord
        let at: Timestamp
        /// Of this program.
        let version: String
    }

    /// The capsule's text: one JSON object on one line.
    static func json(_ source: Source, random: RandomSource) -> String {
        for contents in [Contents.all, .idToken] {
            let text = make(source, contents, random)
            if text.utf8.count <= maximumBytes { return text }
        }
        return make(source, .none, random)
    }

    /// Whose contents a capsule has.
    private enum Contents { case all, idToken, none }

    private static func make(_ source: Source, _ contents: Contents, _ random: RandomSource) -> String {
        var capsule = Capsule(source, contents, random)
        let responses = JSONValue.array(source.record.exchanges.map { capsule.response($0) })
        capsule.shape.beginPart()
        let idToken = capsule.idToken()
        capsule.shape.beginPart()
        let checks = capsule.checks()
        capsule.shape.beginPart()
        let (metadata, keys, issuer) = (capsule.metadata(), capsule.keys(), capsule.issuer())
        let request = capsule.request()
        let settings = source.operation.relyingParty.map { Self.settings(of: source.operation.client, $0.idTokenRules) }
        // Last: the sentences in it must contain none of the replaced values.
        let failure = capsule.failure
        return JSONValue.object(of: [
            ("capsule", .integer(Int64(format))), ("version", .string(source.version)),
            ("time", .string(UTCTime.text(source.at))), ("correlation_id", .string(source.operation.correlationID)),
            ("failure", failure), ("request", request), ("settings", settings),
            ("metadata", metadata), ("keys", keys), ("issuer", issuer), ("responses", responses),
            ("id_token", idToken), ("checks", checks), ("steps", capsule.steps),
        ]).text
    }

    private let source: Source
    private let contents: Contents
    private let provider: ProviderMetadata?
    private let explanation: IDTokenExplanation?
    private var shape: CapsuleShape

    private init(_ source: Source, _ contents: Contents, _ random: RandomSource) {
        self.source = source
        self.contents = contents
        provider = source.record.provider
        explanation = source.record.validation.flatMap { source.operation.relyingParty?.explain($0) }
        shape = CapsuleShape(Pseudonyms(random), known: Self.known(source, provider), at: source.at)
        // So that no sentence shows it.
        if let idToken = source.record.validation?.idToken { _ = shape.pseudonyms.pseudonym(of: idToken.exposed) }
    }

    /// What is configured, and the provider's metadata.
    private static func known(_ source: Source, _ provider: ProviderMetadata?) -> Set<String> {
        let operation = source.operation
        var known = Set(
            operation.client.map {
                [$0.id.text] + $0.scopes + $0.redirectURIs
                    + ($0.native.audiences + $0.trustedAudiences).map(\.text)
            } ?? [])
        known.formUnion(operation.known)
        if let network = operation.network { known.insert(network.text) }
        if let issuer = operation.relyingParty?.issuer { known.insert(issuer.text) }
        guard let provider else { return known }
        known.insert(provider.issuer)
        let endpoints = [
            provider.authorizationEndpoint, provider.tokenEndpoint, provider.userInfoEndpoint, provider.jwksURI,
            provider.endSessionEndpoint, provider.serverInitiatedAuthorizationEndpoint,
            provider.pushedAuthorizationRequestEndpoint,
        ]
        // A query may have anything.
        known.formUnion(endpoints.compactMap { $0?.text }.filter { !$0.utf8.contains(UInt8(ascii: "?")) })
        return known
    }

    // The members that are numbers, names and configured values.

    /// The settings that ID tokens are judged by.
    static func settings(of client: SignInConfiguration.Client?, _ rules: IDTokenRules) -> JSONValue {
        let trusted = client.map { rules.trusted(by: $0.id) } ?? rules.trustedAudiences
        return .object(of: [
            ("clock_skew", .integer(rules.clockSkewSeconds)), ("max_age_of_issue", .integer(rules.maximumAgeSeconds)),
            ("id_token_types", .texts(rules.types.map(\.rawValue).sorted())),
            ("trusted_audiences", trusted.isEmpty ? nil : .texts(trusted.map(\.text).sorted())),
            ("tenants", rules.tenants.map { .texts($0.allowed?.sorted() ?? ["any"]) }),
            ("nonce_may_be_missing", rules.nonceMayBeMissing ? .bool(true) : nil),
            ("signing_algorithms", client.map { .texts($0.signingAlgorithms.map(\.rawValue).sorted()) }),
            ("pkce", client.map { .string($0.pkce.rawValue) }), ("nonce", client.map { .string($0.nonce.rawValue) }),
            ("scopes", client.map { .texts($0.scopes) }),
        ])
    }

    private var steps: JSONValue {
        .array(
            source.operation.times.steps.map { time in
                .object(of: [
                    ("step", .string(time.step.rawValue)),
                    ("microseconds", .integer(Int64(clamping: time.nanoseconds / 1000))),
                ])
            })
    }

    // The members that are made of what the app or the provider sent.

    /// The metadata as a discovery document with the fields that are read, and its age.
    private mutating func metadata() -> JSONValue? {
        guard let provider else { return nil }
        let fetchedAt = source.operation.relyingParty?.metadataFetchedAt(provider)
        let age = fetchedAt.map { JSONValue.integer(source.at.seconds(since: $0)) }
        guard let document = provider.document else {
            return .object(of: [
                ("issuer", .string(provider.issuer)),
                ("token_endpoint", .string(shape.url(provider.tokenEndpoint.text))),
            ])
        }
        shape.beginPart()
        shape.showsURLs = true
        let shown = shape.shape(.object(of: document), named: "")
        shape.showsURLs = false
        return .object(of: (shown.object?.members ?? []).map { ($0.name, $0.value) } + [("age_seconds", age)])
    }

    /// The keys in force with their age, and those that a signature was checked with.
    private mutating func keys() -> JSONValue? {
        guard let provider else { return nil }
        let status = source.operation.relyingParty?.keyStatus(of: provider)
        let held = (source.operation.relyingParty?.heldKeys(of: provider)).map { [$0] } ?? []
        let used = source.record.keySets.isEmpty ? held : source.record.keySets
        guard status != nil || !used.isEmpty else { return nil }
        let keyID = explanation?.header?["kid"]?.string
        let sets = used.map { set in
            JSONValue.array(
                set.keys(named: keyID, limit: Self.maximumKeys).map { key in
                    .object(of: [
                        ("kid", key.keyID.map { .string(shape.pseudonyms.pseudonym(of: $0)) }),
                        ("algs", .texts(key.algorithms.map(\.rawValue))), ("bits", .integer(Int64(key.bits))),
                    ])
                })
        }
        let now = source.at.secondsSinceEpoch
        return .object(of: [
            ("count", (status?.count ?? used.last?.count).map { .integer(Int64($0)) }),
            ("age_seconds", status.map { .integer(now - $0.fetchedAt.secondsSinceEpoch) }),
            ("fresh_for_seconds", status.map { .integer($0.freshUntil.secondsSinceEpoch - now) }),
            ("sets", sets.isEmpty ? nil : .array(sets)),
        ])
    }

    /// What was known of the issuer that a refused network's metadata names.
    private mutating func issuer() -> JSONValue? {
        guard provider == nil, let issuer = source.record.issuer else { return nil }
        let named = issuer.known.networkIssuer.map { JSONValue.string(shape.url($0)) }
        let known = issuer.known.binding.map { binding($0) }
        let own = issuer.own.map { binding($0) }
        return .object(of: [("of_network", named), ("known", known), ("own", own)])
    }

    private mutating func binding(_ binding: IssuerBinding) -> JSONValue {
        .object(of: [
            ("issuer", .string(shape.url(binding.issuer))), ("jwks_uri", .string(shape.url(binding.jwksURI))),
            ("token_host", .string(shape.host(binding.tokenHost))),
            ("hosts", .texts(binding.hosts.sorted().prefix(8).map { shape.host($0) })),
            ("trust", .string(binding.trust.rawValue)),
        ])
    }

    private var failure: JSONValue {
        let error = source.error
        return .object(of: [
            ("code", .string(error.code.rawValue)),
            ("provider_code", (error.carrierError ?? error.providerCode).map { .string(Self.shownCode($0)) }),
            ("error_type", .string(error.errorType.rawValue)),
            ("check", (error.check?.rawValue ?? source.operation.check).map { .string($0) }),
            ("step", source.operation.times.last.map { .string($0.rawValue) }),
            ("status", error.request?.status.map { .integer(Int64($0)) }),
            ("cause", cause.map { .string($0) }),
        ])
    }

    /// What was wrong. The demand of a check is a fixed sentence, whatever words the provider's members have.
    private var cause: String? {
        let cause = source.error.cause ?? source.error.description
        return source.error.check?.demand == cause ? cause : shape.pseudonyms.sentence(cause)
    }

    /// A provider's error code as it is if it is a known one. Another one is named as such.
    static func shownCode(_ code: String) -> String {
        CapsuleVocabulary.values.contains(code) ? code : "another code of \(code.utf8.count) bytes"
    }

    private mutating func request() -> JSONValue {
        let operation = source.operation
        var members: [(name: String, value: JSONValue?)] = [
            ("flow", .string(operation.flow.rawValue)), ("provider", .string(operation.provider)),
            ("client_id", operation.client.map { .string($0.id.text) }),
            ("mccmnc", operation.network.map { .string($0.text) }),
        ]
        members += shown(source.requested)
        return .object(of: members)
    }

    private mutating func shown(_ members: [FailedOperation.Member]) -> [(name: String, value: JSONValue?)] {
        members.flatMap { member in
            guard case .token(let text, let maximumBytes, let checks) = member.value else {
                return [(member.name, member.value.map { shown($0) })]
            }
            return token(text, maximumBytes: maximumBytes)
                + [("checks", checks.map { .object(of: $0.map { ($0.name, .string($0.verdict)) }) })]
        }
    }

    /// What an unverified token says, or what is wrong with its parts.
    private mutating func token(_ text: Secret, maximumBytes: Int) -> [(name: String, value: JSONValue?)] {
        let size: (name: String, value: JSONValue?) = ("token_bytes", .integer(Int64(text.exposed.utf8.count)))
        guard let compact = CompactToken(text, maximumBytes: maximumBytes) else {
            return [size, ("token_parts", Self.partCount(text))]
        }
        return [size] + shape.members(of: compact)
    }

    private static func partCount(_ token: Secret) -> JSONValue {
        .integer(token.exposed.utf8.reduce(1) { $1 == UInt8(ascii: ".") ? $0 + 1 : $0 })
    }

    private mutating func shown(_ value: FailedOperation.Value) -> JSONValue {
        switch value {
        case .name(let name): .string(name)
        case .flag(let flag): .bool(flag)
        case .number(let number): .integer(number)
        case .text(let text): .string(shape.text(text))
        case .words(let words): shape.words(words)
        case .code(let code): .string(Self.shownCode(code))
        case .secret(let secret): .string(shape.pseudonyms.pseudonym(of: secret.exposed))
        case .token(let text, let maximumBytes, _): .object(of: token(text, maximumBytes: maximumBytes))
        case .members(let members): .object(of: shown(members))
        }
    }

    private mutating func response(_ exchange: ProtocolRecord.Exchange) -> JSONValue {
        let beforeFailure = source.at.seconds(since: exchange.endedAt)
        let common: [(name: String, value: JSONValue?)] = [
            ("to", .string("\(exchange.step)")),
            ("of", exchange.step == .discovery ? .string(exchange.isToIssuer ? "issuer" : "network") : nil),
            ("seconds_before_failure", .integer(beforeFailure)),
        ]
        switch exchange.result {
        case .failure(let error):
            return .object(
                of: common + [
                    ("no_response", .string(error.code.rawValue)), ("may_have_been_sent", .bool(error.mayHaveBeenSent)),
                ])
        case .success(let response):
            let size = JSONValue.object(of: [
                ("bytes", .integer(Int64(response.body.count))), ("omitted", "capsule_too_long"),
            ])
            let keys =
                exchange.step == .userInfo
                ? provider.flatMap { source.operation.relyingParty?.heldKeys(of: $0) } : nil
            shape.beginPart()
            shape.showsURLs = exchange.step == .discovery
            let content =
                contents == .all
                ? shape.content(response.body, maximumBytes: Self.maximumBytes * 2, keys: keys) : size
            shape.showsURLs = false
            return .object(
                of: common + [
                    ("status", .integer(Int64(response.status))), ("fields", shape.fields(of: response)),
                    ("content", content),
                ])
        }
    }

    private mutating func idToken() -> JSONValue? {
        guard let validation = source.record.validation else { return nil }
        let wasEncrypted = source.operation.client?.rules.idTokenDecryption != nil
        let text = validation.idToken.exposed
        let common: [(name: String, value: JSONValue?)] = [
            ("bytes", .integer(Int64(text.utf8.count))), ("encrypted", wasEncrypted ? true : nil),
        ]
        guard contents != .none else { return .object(of: common + [("omitted", "capsule_too_long")]) }
        let longest = source.operation.relyingParty?.idTokenRules.maximumBytes ?? 0
        guard let compact = CompactToken(validation.idToken, maximumBytes: longest) else {
            return .object(of: common + [("parts", Self.partCount(validation.idToken))])
        }
        return .object(of: common + shape.members(of: compact))
    }

    /// Every check of the ID token, with what was expected and what was found.
    private mutating func checks() -> JSONValue? {
        guard let explanation, let validation = source.record.validation,
            let rules = source.operation.relyingParty?.idTokenRules
        else { return nil }
        let shown = explanation.steps.map { step in
            let found = step.check.members.map { name -> (name: String, value: JSONValue?) in
                let value = explanation.claims?[name] ?? explanation.header?[name]
                return (name, value.map { shape.shape($0, named: name) })
            }
            // The keys of the sign-in may be gone: it was refused by this check all the same.
            let verdict = step.check == source.error.check ? .failed : step.verdict
            return JSONValue.object(of: [
                ("check", .string(step.check.rawValue)), ("verdict", .string(verdict.rawValue)),
                ("expected", expected(by: step.check, validation, rules)),
                ("found", found.isEmpty ? nil : .object(of: found)),
            ])
        }
        return .object(of: [("at", .integer(validation.at.secondsSinceEpoch)), ("results", .array(shown))])
    }

    /// What a check compares with; nil if it compares with nothing.
    private mutating func expected(
        by check: IDTokenCheck, _ validation: ProtocolRecord.Validation, _ rules: IDTokenRules
    ) -> JSONValue? {
        let expectation = validation.expectation
        let now = validation.at.secondsSinceEpoch
        switch check {
        case .type: return .texts(rules.types.map(\.rawValue).sorted())
        case .algorithm:
            let allowed = expectation.signingAlgorithms.intersection(validation.provider.signingAlgorithms)
            return .texts(allowed.map(\.rawValue).sorted())
        case .issuer: return .string(validation.provider.issuer)
        case .audience, .authorizedParty: return .string(expectation.audience(of: explanation?.claims).text)
        case .expiry: return .object(of: [("after", .integer(now - rules.clockSkewSeconds))])
        case .issuedAt:
            let oldest = now - rules.maximumAgeSeconds - rules.clockSkewSeconds
            return .object(of: [("from", .integer(oldest)), ("to", .integer(now + rules.clockSkewSeconds))])
        case .notBefore: return .object(of: [("until", .integer(now + rules.clockSkewSeconds))])
        case .nonce:
            let isHashed = expectation.hashedNonce.map { $0 == explanation?.claims?["nonce"]?.string } ?? false
            let nonce = isHashed ? expectation.hashedNonce : expectation.nonce
            return nonce.map { .string(shape.pseudonyms.pseudonym(of: $0)) }
        case .acr: return expectation.demand.acrValues.isEmpty ? nil : shape.words(expectation.demand.acrValues)
        case .authTime:
            guard expectation.demand.maximumAge != nil || expectation.demand.since != nil else {
                return nil
            }
            return .object(of: [
                ("max_age", expectation.demand.maximumAge.map { .integer($0) }),
                ("since", expectation.demand.since.map { .integer($0.secondsSinceEpoch) }),
            ])
        case .context: return expectation.demand.context.map { .string(shape.pseudonyms.pseudonym(of: $0)) }
        default: return nil
        }
    }
}

extension IDTokenCheck {
    /// The header parameters or claims that a check looks at.
    fileprivate var members: [String] {
        switch self {
        case .criticalHeader: ["crit", "b64"]
        case .type: ["typ"]
        case .algorithm: ["alg"]
        case .key: ["kid", "alg"]
        case .issuer: ["iss"]
        case .subject, .userInfoSubject, .sameUser: ["sub"]
        case .audience: ["aud"]
        case .authorizedParty: ["azp"]
        case .expiry: ["exp", "iat"]
        case .issuedAt: ["iat"]
        case .notBefore: ["nbf"]
        case .nonce: ["nonce"]
        case .requestID: ["urn:openid:params:jwt:claim:auth_req_id"]
        case .acr: ["acr"]
        case .authTime: ["auth_time"]
        case .accessTokenHash: ["at_hash"]
        case .context: ["context"]
        case .encryption, .format, .signature, .claims, .idTokenClaims: []
        }
    }
}
