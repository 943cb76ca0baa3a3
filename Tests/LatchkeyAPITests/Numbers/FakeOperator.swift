import OpenIDConnect
import Primitives
import Synchronization
import TestSupport

/// A mobile operator without a network: metadata, keys, token endpoint and CAMARA APIs, which a test can script. It
/// accepts each code and each access token once.
final class FakeOperator: Sendable {
    typealias Answer = @Sendable (OutboundRequest) throws(OutboundError) -> OutboundResponse

    /// How the operator differs from a conforming one.
    struct Script: Sendable {
        /// Nil for an operator without ID tokens.
        var subject: String? = "SUBJECT-of-jane"
        var number = "+14155550101"
        var isSwapped = false
        /// More or changed claims of the ID token, as JSON.
        var claims: [String: String] = [:]
        /// More members of the metadata, as JSON.
        var metadata: [String: String] = [:]
        var token: Answer?
        var backchannel: Answer?
        /// At the endpoint for pushed authorization requests.
        var push: Answer?
        /// The errors of the next polls.
        var polls: [String] = []
        var share: Answer?
        var verify: Answer?
        var swap: Answer?
        /// The operator of all numbers at Telco Finder; nil for none.
        var owner: String? = "northwind"
        /// More members of Telco Finder's answers, as JSON.
        var ownerMembers = ""
        var finderCacheControl: String?
        var search: Answer?
    }

    private struct State {
        var script = Script()
        /// The nonces of authorizations, by their codes.
        var codes: [String: String] = [:]
        var accessTokens: Set<String> = []
        var count = 0
    }

    let name: String
    var issuer: String { "https://auth.\(name).example" }
    var api: String { "https://api.\(name).example" }
    var tokenURL: String { issuer + "/token" }
    var backchannelURL: String { issuer + "/bc-authorize" }
    var pushURL: String { issuer + "/par" }
    var shareURL: String { api + "/number-verification/v2/device-phone-number" }
    var verifyURL: String { api + "/number-verification/v2/verify" }
    var swapURL: String { api + "/sim-swap/v2/check" }

    var searchURL: String { api + "/telco-finder/v1/search" }

    private let state = Mutex(State())
    private let key: TestSigningKey
    private let clock: ManualClock

    init(_ name: String, clock: ManualClock) {
        self.name = name
        self.clock = clock
        key = TestSigningKey(keyID: "key-of-\(name)")
    }

    /// Changes the operator's behaviour from now on.
    func script(_ change: (inout Script) -> Void) { state.withLock { change(&$0.script) } }

    /// It takes operator tokens by backchannel authentication.
    func useBackchannel() {
        let url = backchannelURL
        script {
            $0.metadata["backchannel_authentication_endpoint"] = "\"\(url)\""
            $0.metadata["backchannel_token_delivery_modes_supported"] = "[\"poll\"]"
            $0.metadata["grant_types_supported"] =
                "[\"authorization_code\",\"urn:openid:params:grant-type:ciba\",\"client_credentials\"]"
        }
    }

    /// What the operator gives a browser for an authorization request: a code.
    func authorize(nonce: String) -> String {
        state.withLock { state in
            state.count += 1
            let code = "CODE-\(name)-\(state.count)"
            state.codes[code] = nonce
            return code
        }
    }

    /// Nil if the request is for somebody else.
    func answer(_ request: OutboundRequest) throws(OutboundError) -> OutboundResponse? {
        let script = state.withLock { $0.script }
        switch request.url.text {
        case issuer + "/.well-known/openid-configuration": return .json(metadata(script))
        case issuer + "/keys": return .json(#"{"keys":[\#(key.jwk)]}"#)
        case tokenURL: return try script.token?(request) ?? tokens(request, script)
        case backchannelURL:
            return try script.backchannel?(request)
                ?? .json(#"{"auth_req_id":"REQUEST-1","expires_in":120,"interval":2}"#)
        case pushURL:
            return try script.push?(request)
                ?? .json(#"{"request_uri":"urn:example:request","expires_in":60}"#, status: 201)
        case shareURL:
            return try script.share?(request) ?? spend(request, .json(#"{"devicePhoneNumber":"\#(script.number)"}"#))
        case verifyURL:
            return try script.verify?(request) ?? spend(request, .json(#"{"devicePhoneNumberVerified":true}"#))
        case swapURL: return try script.swap?(request) ?? spend(request, .json(#"{"swapped":\#(script.isSwapped)}"#))
        case searchURL: return try script.search?(request) ?? owner(request, script)
        default: return nil
        }
    }

    /// Telco Finder's answer.
    private func owner(_ request: OutboundRequest, _ script: Script) -> OutboundResponse {
        guard let owner = script.owner else { return spend(request, Self.error(404, "IDENTIFIER_NOT_FOUND")) }
        var response = OutboundResponse.json(#"{"operatorId":"\#(owner)"\#(script.ownerMembers)}"#)
        response.cacheControl = script.finderCacheControl
        return spend(request, response)
    }

    private func metadata(_ script: Script) -> String {
        var members: [String: String] = [
            "issuer": "\"\(issuer)\"", "authorization_endpoint": "\"\(issuer)/authorize\"",
            "token_endpoint": "\"\(tokenURL)\"", "jwks_uri": "\"\(issuer)/keys\"",
            "response_types_supported": "[\"code\"]", "id_token_signing_alg_values_supported": "[\"ES256\"]",
            "token_endpoint_auth_methods_supported": "[\"private_key_jwt\"]",
            "code_challenge_methods_supported": "[\"S256\"]",
        ]
        members.merge(script.metadata) { _, new in new }
        return TokenText.object(members.map { (name: $0.key, json: $0.value) })
    }

    /// The response for a code, an operator token or the client itself.
    func tokens(_ request: OutboundRequest, _ script: Script? = nil) -> OutboundResponse {
        let script = script ?? state.withLock { $0.script }
        let form = String(decoding: request.body, as: UTF8.self).split(separator: "&")
        func value(_ name: String) -> String? {
            form.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
        }
        var nonce: String?
        if value("auth_req_id") != nil {
            let error = state.withLock { $0.script.polls.isEmpty ? nil : $0.script.polls.removeFirst() }
            if let error { return .json(#"{"error":"\#(error)"}"#, status: 400) }
        }
        if let code = value("code") {
            guard let known = state.withLock({ $0.codes.removeValue(forKey: code) }) else {
                return .json(#"{"error":"invalid_grant"}"#, status: 400)
            }
            nonce = known
        }
        let accessToken = state.withLock { state in
            state.count += 1
            let token = "ACCESS-\(name)-\(state.count)"
            state.accessTokens.insert(token)
            return token
        }
        let isForClient = value("grant_type") == "client_credentials"
        let idToken = isForClient ? nil : script.subject.map { self.idToken($0, nonce, script) }
        let member = idToken.map { #","id_token":"\#($0)""# } ?? ""
        return .json(#"{"access_token":"\#(accessToken)","token_type":"Bearer","expires_in":60\#(member)}"#)
    }

    private func idToken(_ subject: String, _ nonce: String?, _ script: Script) -> String {
        let now = clock.now.secondsSinceEpoch
        var claims: [String: String] = [
            "iss": "\"\(issuer)\"", "sub": "\"\(subject)\"", "aud": "\"latchkey\"", "iat": "\(now)",
            "exp": "\(now + 300)",
        ]
        if let nonce { claims["nonce"] = "\"\(nonce)\"" }
        claims.merge(script.claims) { _, new in new }
        return (try? key.token(claims: TokenText.object(claims.map { (name: $0.key, json: $0.value) }))) ?? ""
    }

    /// Answers a call with an access token that was not used before.
    private func spend(_ request: OutboundRequest, _ response: OutboundResponse) -> OutboundResponse {
        let token = request.headers.first { $0.name == "Authorization" }?.value.dropFirst("Bearer ".utf8.count)
        let isFresh = state.withLock { $0.accessTokens.remove(String(token ?? "")) != nil }
        return isFresh ? response : Self.error(401, "UNAUTHENTICATED")
    }

    /// An error of the CAMARA APIs.
    static func error(_ status: Int, _ code: String) -> OutboundResponse {
        .json(#"{"status":\#(status),"code":"\#(code)","message":"m"}"#, status: status)
    }
}
