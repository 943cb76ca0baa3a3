import HTTPServer

/// The faults of a token response that comes from a request which was granted.
struct TokenFaults: Sendable {
    let site: CarrierSite

    func spoil(_ answer: JSONMembers) -> Response {
        var answer = answer
        for fault in site.carrier.faults { changeMembers(&answer, fault) }
        var response = Response.json(answer)
        for fault in site.carrier.faults { changeContent(&response.body, fault) }
        return response
    }

    private func changeMembers(_ answer: inout JSONMembers, _ fault: CarrierSimulator.Fault) {
        switch fault {
        case .tokenMissingIDToken: answer["id_token"] = nil
        case .tokenMissingAccessToken: answer["access_token"] = nil
        case .tokenWrongType: answer["token_type"] = "mac"
        case .tokenTypeUppercase: answer["token_type"] = "BEARER"
        case .tokenMissingExpiresIn: answer["expires_in"] = nil
        case .tokenDuplicateMember: answer.append("id_token", "")
        case .tokenHuge: answer["padding"] = .text(String(repeating: "p", count: 2 << 20))
        default: break
        }
    }

    private func changeContent(_ body: inout [UInt8], _ fault: CarrierSimulator.Fault) {
        switch fault {
        case .tokenNotObject: body = [UInt8(ascii: "[")] + body + [UInt8(ascii: "]")]
        case .tokenEmpty: body = []
        case .tokenTrailingGarbage: body += Array(" {\"and\":\"more\"}".utf8)
        default: break
        }
    }
}
