import OpenIDConnect
import Primitives

/// The request, the responses and the keys of a capsule, with made-up values.
struct RebuiltSignIn {
    let request: SignInRequest
    /// The client of today. What decrypts its ID tokens is left out if they are rebuilt without encryption.
    private(set) var client: SignInConfiguration.Client
    private(set) var answers: [RebuiltResponses.Question: [RebuiltResponses.Answer]] = [:]
    /// The time of the validation, or else of the failure.
    let moment: Timestamp
    /// What the replay takes from the capsule without computing it, in sentences.
    var carriedOver: [String] = []
    /// Whether the capsule says that the signature of the ID token was right or wrong, rather than not checked.
    var isSignatureKnown = false
    private let network: MCCMNC?
    private let metadata: JSONObject?
    /// What was known of the issuer of a refused network.
    private let issuer: JSONObject?
    var values = MadeUpValues()
    private let decrypts: Bool
    /// The keys of the capsule; nil before they are made.
    var keys: RebuiltKeys?
    /// The results of the checks of the ID token, by their names.
    let results: [String: JSONObject]
    /// The ID token in compact form; nil if the capsule has none.
    private(set) var idToken: String?
    /// What the ID token came with; nil if the capsule has none.
    private(set) var accessToken: Secret?

    private typealias Refusal = CapsuleReplay.Refusal

    /// - Parameter decrypts: Whether an ID token that was encrypted is decrypted. Otherwise the client is to be one
    ///   without a key.
    /// - Throws: ``CapsuleReplay/Refusal``.
    init(
        _ capsule: CapsuleReplay, _ client: SignInConfiguration.Client, isOfCarriers: Bool, decrypts: Bool
    ) throws(CapsuleReplay.Refusal) {
        let content = capsule.content
        self.client = client
        self.decrypts = decrypts
        let checks = content["checks"]?.object
        moment = checks?["at"]?.integer.map { Timestamp(secondsSinceEpoch: $0) } ?? capsule.time
        results = Self.results(of: checks)
        request = try Self.request(capsule, client.id, results, &values)
        network = request.network
        if let document = content["metadata"]?.object {
            metadata = JSONValue.object(of: try values.members(document)).object
        } else {
            metadata = nil
        }
        if let shown = content["issuer"]?.object {
            issuer = JSONValue.object(of: try values.members(shown)).object
        } else {
            issuer = nil
        }
        try rebuild(content, isOfCarriers: isOfCarriers)
        if capsule.kind == .code, client.nonce == .issued, !request.wasStartedHere {
            carriedOver.append("that this server had issued the nonce")
        }
    }

    // MARK: The request

    private static func request(
        _ capsule: CapsuleReplay, _ clientID: ClientID, _ results: [String: JSONObject], _ values: inout MadeUpValues
    ) throws(CapsuleReplay.Refusal) -> SignInRequest {
        let shown = capsule.content["request"]?.object
        let made = try shown.map { shown throws(CapsuleReplay.Refusal) in
            JSONValue.object(of: try values.members(shown))
        }?.object
        var request = SignInRequest(
            provider: capsule.provider, clientID: clientID, code: Secret(made?["code"]?.string ?? ""),
            network: made?["mccmnc"]?.string.flatMap(MCCMNC.init), redirectURI: made?["redirect_uri"]?.string ?? "")
        request.wasStartedHere = made?["started_here"]?.bool ?? false
        if made?["has_code_verifier"]?.bool == true { request.codeVerifier = .random(from: .system) }
        request.nonce = made?["nonce"]?.string.map(Secret.init)
        request.scopes = (made?["scopes"]?.array ?? []).compactMap(\.string)
        request.acrValues = (made?["acr_values"]?.array ?? []).compactMap(\.string)
        request.context = made?["context"]?.string
        let expected = results["auth_time"]?["expected"]?.object
        request.authentication.maximumAge = (expected?["max_age"] ?? made?["max_age"])?.integer
        request.authentication.since = expected?["since"]?.integer.map { Timestamp(secondsSinceEpoch: $0) }
        return request
    }

    // MARK: The responses

    private mutating func rebuild(_ content: JSONObject, isOfCarriers: Bool) throws(CapsuleReplay.Refusal) {
        let shownToken = content["id_token"]?.object
        var header: JSONObject?
        if let shown = (shownToken ?? CapsuleReplay.otherToken(in: content))?["header"]?.object {
            header = JSONValue.object(of: try values.members(shown)).object
        }
        let keys = try RebuiltKeys(content["keys"]?.object, header: header, &values)
        let exchanges = (content["responses"]?.array ?? []).prefix(CapsuleReplay.maximumElements).compactMap(\.object)
        self.keys = keys
        accessToken = try accessToken(in: exchanges)
        let isNotified = content["request"]?.object?["notification"]?.object?["has_access_token"]?.bool
        if isNotified == true { accessToken = Secret("made-up-access-token") }
        idToken = try idToken(shownToken, keys, header)
        for exchange in exchanges {
            let question = Self.question(exchange, isOfCarriers)
            // Metadata and keys that were used are answered with below.
            if question == .discovery, metadata != nil { continue }
            answers[question, default: []].append(
                try answer(to: question, exchange, keys))
        }
        answerWithMetadata(isOfCarriers)
        answerWithKeys(keys)
        if !keys.sets.isEmpty, let verdict = results["signature"]?["verdict"]?.string {
            carriedOver.append("the signature of the ID token: \(CapsuleReplay.shown(verdict))")
        }
    }

    private static func results(of checks: JSONObject?) -> [String: JSONObject] {
        var results: [String: JSONObject] = [:]
        for result in (checks?["results"]?.array ?? []).prefix(CapsuleReplay.maximumElements) {
            if let result = result.object, let name = result["check"]?.string { results[name] = result }
        }
        return results
    }

    private static func question(_ exchange: JSONObject, _ isOfCarriers: Bool) -> RebuiltResponses.Question {
        switch exchange["to"]?.string {
        case "discovery": isOfCarriers && exchange["of"]?.string == "issuer" ? .issuer : .discovery
        case "keys": .keys
        case "token": .token
        case "userInfo": .userInfo
        case "pushedAuthorization": .pushedAuthorization
        case "backchannelAuthentication": .backchannelAuthentication
        default: .other
        }
    }

    private mutating func accessToken(in exchanges: [JSONObject]) throws(CapsuleReplay.Refusal) -> Secret? {
        let tokens = exchanges.last { $0["to"]?.string == "token" }?["content"]?.object?["json"]?.object
        guard let shown = tokens?["access_token"]?.string else { return nil }
        return Secret(try values.text(shown))
    }

    /// The ID token in compact form; nil if the capsule has none.
    private mutating func idToken(
        _ shown: JSONObject?, _ keys: RebuiltKeys, _ header: JSONObject?
    ) throws(CapsuleReplay.Refusal) -> String? {
        guard let shown else { return nil }
        guard shown["omitted"] == nil else {
            throw CapsuleReplay.Refusal(.notReplayable, "the ID token was too long for the capsule")
        }
        if shown["encrypted"]?.bool == true {
            // Of a client without a key, the token is refused as it is.
            guard decrypts else { return RebuiltToken.malformed(bytes: 64, parts: 5) }
            client.idTokenDecryption = nil
            carriedOver.append("the decryption of the ID token")
        }
        if let parts = shown["parts"]?.integer {
            return RebuiltToken.malformed(bytes: shown["bytes"]?.integer ?? 0, parts: parts)
        }
        let hash = header?["alg"]?.string.flatMap(SigningAlgorithm.init(rawValue:)).flatMap { algorithm in
            accessToken.map { ReplayKey.accessTokenHash($0, algorithm) }
        }
        let isHashRight = results["at_hash"]?["verdict"]?.string == "passed"
        if isHashRight, shown["claims"]?.object?["at_hash"] != nil { carriedOver.append("that at_hash is right") }
        // Only what verified is signed.
        let verdict = results["signature"]?["verdict"]?.string.flatMap(TokenVerdict.init(rawValue:))
        isSignatureKnown = verdict == .passed || verdict == .failed
        return try RebuiltToken.text(
            shown, &values,
            claims: { claims in
                guard isHashRight, let hash else { return claims }
                return claims.map { $0.name == "at_hash" ? ($0.name, .string(hash)) : $0 }
            }, signedWith: verdict == .passed ? keys.signer : nil)
    }

    private mutating func answer(
        to question: RebuiltResponses.Question, _ exchange: JSONObject, _ keys: RebuiltKeys
    ) throws(CapsuleReplay.Refusal) -> RebuiltResponses.Answer {
        if let code = exchange["no_response"]?.string {
            guard let code = OutboundError.Code(rawValue: code) else {
                throw CapsuleReplay.Refusal(.unreadable, "no_response of a response is no known reason")
            }
            carriedOver.append("that \(question.name) got no response (\(code.rawValue))")
            return .failure(
                OutboundError(
                    code, mayHaveBeenSent: exchange["may_have_been_sent"]?.bool ?? true, reason: "as in the capsule"))
        }
        guard let status = exchange["status"]?.integer, (100...999).contains(status) else {
            throw CapsuleReplay.Refusal(.unreadable, "a response has no status; export the capsule again")
        }
        var response = OutboundResponse(status: Int(status))
        if let fields = exchange["fields"]?.object {
            let made = JSONValue.object(of: try values.members(fields)).object
            response.contentType = made?["content_type"]?.string
            response.cacheControl = made?["cache_control"]?.string
            response.retryAfter = made?["retry_after"]?.string
            response.date = made?["date"]?.string
            response.dpopNonce = made?["dpop_nonce"]?.string
            response.wwwAuthenticate = made?["www_authenticate"]?.string
        }
        let content = exchange["content"]?.object
        guard content?["omitted"]?.string != "capsule_too_long" else {
            throw CapsuleReplay.Refusal(
                .notReplayable, "the capsule has no content of the response to \(question.name), which was too long")
        }
        response.body = try body(content, question, keys)
        return .response(response)
    }

    private mutating func body(
        _ content: JSONObject?, _ question: RebuiltResponses.Question, _ keys: RebuiltKeys
    ) throws(CapsuleReplay.Refusal) -> [UInt8] {
        guard let content else { return [] }
        if let json = content["json"] {
            if let object = json.object {
                try MadeUpValues.checkIsWhole(object, of: "the response to \(question.name)")
            }
            var made = try values.value(json)
            if question == .token, let idToken { made = Self.inserting(idToken, into: made) }
            if question == .keys { made = Self.unusable(made) }
            return Array(made.text.utf8)
        }
        if let token = content["token"]?.object {
            guard question != .userInfo || client.userInfoDecryption == nil else {
                throw CapsuleReplay.Refusal(.notReplayable, "encrypted userinfo is not in a capsule")
            }
            let verifies = token["verifies"]?.bool
            if let verifies {
                carriedOver.append("the signature of the userinfo response: \(verifies ? "passed" : "failed")")
            }
            return Array(try RebuiltToken.text(token, &values, signedWith: verifies == true ? keys.signer : nil).utf8)
        }
        if let fault = content["not_json"]?.object {
            let text = FaultyJSON.text(fault["fault"]?.string ?? "")
            try values.charge(values: 1, bytes: text.count)
            return text
        }
        // Only its length is known.
        let length = Int(clamping: max(0, min(content["bytes"]?.integer ?? 0, 1 << 20)))
        try values.charge(values: 1, bytes: length)
        return [UInt8](repeating: UInt8(ascii: " "), count: length)
    }

    /// The token response with the rebuilt ID token.
    private static func inserting(_ idToken: String, into response: JSONValue) -> JSONValue {
        guard let object = response.object else { return response }
        return .object(
            of: object.members.map { member in
                let isToken = member.name == "id_token" && member.value.string?.isEmpty == false
                return (member.name, isToken ? .string(idToken) : member.value)
            })
    }

    /// A key set of which no key was of use: those that can be used are in the member `keys` of the capsule.
    private static func unusable(_ set: JSONValue) -> JSONValue {
        guard let object = set.object, let keys = object["keys"]?.array else { return set }
        let useless = keys.map { key -> JSONValue in
            guard let key = key.object else { return key }
            return .object(
                of: key.members.map { ($0.name, ["n", "x"].contains($0.name) ? .string("AQ") : $0.value) })
        }
        return .object(
            of: object.members.map { ($0.name, $0.name == "keys" ? .array(useless) : $0.value) })
    }

    // MARK: Metadata and keys

    private mutating func answerWithMetadata(_ isOfCarriers: Bool) {
        guard let metadata else {
            if let own = issuer?["own"]?.object, answers[.issuer] == nil {
                answers[.issuer] = [.response(Self.document(of: own))]
                carriedOver.append("what the issuer's own OpenID configuration says")
            }
            return
        }
        let members = metadata.members.filter { $0.name != "age_seconds" }.map { ($0.name, Optional($0.value)) }
        answers[.discovery] = [.response(Self.json(.object(of: members)))]
        if isOfCarriers { carriedOver.append("that the network may name its issuer") }
    }

    /// The first request gets the keys that were in force; the next one, which asks for newer ones, what it got.
    private mutating func answerWithKeys(_ keys: RebuiltKeys) {
        guard !keys.sets.isEmpty else { return }
        let sets = keys.sets.map { RebuiltResponses.Answer.response(Self.json($0)) }
        let failures = (answers[.keys] ?? []).filter { answer in
            guard case .response(let response) = answer else { return true }
            return response.status != 200
        }
        let none = RebuiltResponses.Answer.failure(
            OutboundError(.overloaded, mayHaveBeenSent: false, reason: "the capsule has no newer keys"))
        answers[.keys] = sets + (keys.sets.count > 1 ? [] : failures.suffix(1) + [none])
    }

    private static func json(_ value: JSONValue) -> OutboundResponse { json(Array(value.text.utf8)) }

    private static func json(_ bytes: [UInt8]) -> OutboundResponse {
        OutboundResponse(status: 200, contentType: "application/json", body: bytes)
    }

    /// An issuer's OpenID configuration with its keys and hosts.
    private static func document(of binding: JSONObject) -> OutboundResponse {
        let hosts = (binding["hosts"]?.array ?? []).compactMap(\.string)
        let names = [
            "authorization_endpoint", "userinfo_endpoint", "server_initiated_authorization_endpoint",
            "pushed_authorization_request_endpoint",
        ]
        let scheme = binding["issuer"]?.string?.hasPrefix("http://") == true ? "http" : "https"
        let endpoints = zip(names, hosts).map { ($0, JSONValue?.some(.string("\(scheme)://\($1)/"))) }
        return json(
            .object(
                of: [
                    ("issuer", binding["issuer"]), ("jwks_uri", binding["jwks_uri"]),
                    ("token_endpoint", binding["token_host"]?.string.map { .string("\(scheme)://\($0)/") }),
                ] + endpoints))
    }

    /// What is known of the network and of its issuer before the replay.
    func knownIssuers(_ isOfCarriers: Bool) -> KnownIssuers {
        guard isOfCarriers, let network else { return KnownIssuers() }
        if let metadata { return known(from: metadata, network) }
        let binding = issuer?["known"]?.object.flatMap(Self.binding)
        let named = issuer?["of_network"]?.string
        return KnownIssuers(
            networkIssuers: named.map { [network.text: $0] } ?? [:], bindings: binding.map { [$0] } ?? [])
    }

    /// The binding that accepted metadata agrees with.
    private func known(from metadata: JSONObject, _ network: MCCMNC) -> KnownIssuers {
        guard let issuer = metadata["issuer"]?.string, let jwksURI = metadata["jwks_uri"]?.string,
            let tokenEndpoint = metadata["token_endpoint"]?.string
        else { return KnownIssuers() }
        func host(_ text: String) -> String? { EndpointURL(text, policy: .allowLoopbackHTTP)?.authority }
        let aliases = metadata["mtls_endpoint_aliases"]?.object?.members ?? []
        let hosts = (metadata.members + aliases).compactMap { $0.value.string.flatMap(host) }
        let binding = IssuerBinding(
            issuer: issuer, jwksURI: jwksURI, tokenHost: host(tokenEndpoint) ?? "", hosts: Set(hosts),
            trust: .confirmed)
        return KnownIssuers(networkIssuers: [network.text: issuer], bindings: [binding])
    }

    private static func binding(_ shown: JSONObject) -> IssuerBinding? {
        guard let issuer = shown["issuer"]?.string, let jwksURI = shown["jwks_uri"]?.string,
            let tokenHost = shown["token_host"]?.string,
            let trust = shown["trust"]?.string.flatMap(IssuerBinding.Trust.init(rawValue:))
        else { return nil }
        let hosts = (shown["hosts"]?.array ?? []).compactMap(\.string)
        return IssuerBinding(issuer: issuer, jwksURI: jwksURI, tokenHost: tokenHost, hosts: Set(hosts), trust: trust)
    }
}
