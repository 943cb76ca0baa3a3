package import HTTPServer
import HTTPTypes
import Primitives

extension CarrierSite {
    /// Whether it has the fault with a name of these two parts, if there is one.
    func has(_ prefix: String, _ defect: String) -> Bool {
        CarrierSimulator.Fault(named: prefix + defect).map(has) ?? false
    }

    /// Applies the faults in which an endpoint does not look at the request: waits if the endpoint is slow, then
    /// returns the response that replaces the right one, if there is one.
    /// - Parameter prefix: What the names of the endpoint's faults begin with.
    func replacement(
        _ prefix: String, redirectStatus: HTTPResponse.Status, pause: CarrierSimulator.Pause
    ) async throws -> Response? {
        if has(prefix, "slow") { try await pause(carrier.delay) }
        if has(prefix, "500") { return .brokenPage(.internalServerError) }
        if has(prefix, "not-json") { return .brokenPage(.ok) }
        if has(prefix, "redirect") { return .redirect(to: canary("redirect"), status: redirectStatus) }
        return nil
    }

    /// The response to a token request that was granted, with the carrier's faults and the edits of a test.
    func tokenResponse(_ members: JSONMembers) -> Response {
        var members = edited(members, at: .token)
        if has(.tokenMissingIDToken) { members["id_token"] = nil }
        if has(.tokenMissingAccessToken) { members["access_token"] = nil }
        if has(.tokenWrongType) { members["token_type"] = "mac" }
        if has(.tokenTypeUppercase) { members["token_type"] = "BEARER" }
        if has(.tokenMissingExpiresIn) { members["expires_in"] = nil }
        if has(.tokenDuplicateMember) { members.append("id_token", "") }
        if has(.tokenHuge) { members["padding"] = .string(String(repeating: "p", count: 2 << 20)) }
        var response = Response.json(members)
        if has(.tokenNotObject) { response.body = [UInt8(ascii: "[")] + response.body + [UInt8(ascii: "]")] }
        if has(.tokenEmpty) { response.body = [] }
        if has(.tokenTrailingGarbage) { response.body += Array(" {\"and\":\"more\"}".utf8) }
        return response
    }

    /// The response to a pushed authorization request that was accepted, with the faults and the edits of a test.
    func pushedResponse(_ members: JSONMembers) -> Response {
        var members = edited(members, at: .pushedAuthorization)
        if has(.parMissingRequestURI) { members["request_uri"] = nil }
        if has(.parControlCharacter) { members["request_uri"] = "urn:ietf:params:oauth:request_uri:\r\nx" }
        if has(.parLongRequestURI) { members["request_uri"] = .string("urn:" + String(repeating: "u", count: 509)) }
        if has(.parMissingExpiresIn) { members["expires_in"] = nil }
        if has(.parExpired) { members["expires_in"] = 0 }
        if has(.parHuge) { members["padding"] = .string(String(repeating: "p", count: 2 << 20)) }
        return .json(members, status: has(.parStatus200) ? .ok : .created)
    }
}

extension CarrierSimulator {
    /// Edits of a carrier's messages for which there is no ``Fault``. They apply in order, after the faults.
    package struct Tampering: Sendable {
        package typealias Edit<Value> = @Sendable (inout Value) -> Void

        /// Edits of the ID token before it is signed.
        package var idTokens: [Edit<TokenDraft>] = []
        /// Edits of the ID token's compact form.
        package var compactForms: [Edit<String>] = []
        /// Edits of the object of a successful response: metadata, key set, tokens or claims.
        package var objects: [RequestLog.Endpoint: [Edit<JSONMembers>]] = [:]
        /// Edits of the metadata that the discovery service has of the carrier. The carrier's own stays as it is.
        package var brokerMetadata: [Edit<JSONMembers>] = []
        /// Edits of any response of an endpoint.
        package var responses: [RequestLog.Endpoint: [Edit<Response>]] = [:]

        package init() {}
    }
}
