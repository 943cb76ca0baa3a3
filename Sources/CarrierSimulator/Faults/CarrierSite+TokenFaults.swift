import HTTPServer
import Primitives

extension CarrierSite {
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
}
