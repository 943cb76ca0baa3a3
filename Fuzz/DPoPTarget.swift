import Primitives

@testable import OpenIDConnect

/// The bytes as what a server says about nonces in DPoP proofs. The first byte says where: `n` the field `DPoP-Nonce`,
/// `w` the field `WWW-Authenticate`, `b` the body of an error.
enum DPoPTarget {
    private static let key = DPoPKey()

    static func read(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        // As the HTTP client reads fields.
        let field = String(decoding: bytes.dropFirst(), as: UTF8.self)
        switch first {
        case UInt8(ascii: "n"): readNonce(field)
        case UInt8(ascii: "w"): readChallenge(field)
        case UInt8(ascii: "b"):
            let (response, limits) = (OutboundResponse(status: 400, body: Array(bytes.dropFirst())), OutboundLimits())
            guard DPoPChallenge.isIn(response, limits, hasAccessToken: false) else { return }
            demand((try? TokenResponse(response, limits: limits)) == nil, "a demand gives no tokens")
            demand(!DPoPChallenge.isIn(response, limits, hasAccessToken: true), "a resource demands by a field")
        default: break
        }
    }

    private static func readNonce(_ field: String) {
        guard let nonce = DPoPNonce(field) else { return }
        demand(nonce.text == field, "a nonce is sent as it came")
        demand((1...DPoPNonce.maximumBytes).contains(nonce.text.utf8.count), "a nonce keeps its limit")
        guard let url = EndpointURL("https://op.example/token", policy: .httpsOnly) else { return }
        let request = OutboundRequest(method: .post, url: url, timeout: .seconds(1), maximumBodyBytes: 1)
        let proof = try? key.proof(
            for: request, nonce: nonce, claims: [], id: "id", now: Timestamp(secondsSinceEpoch: 1_800_000_000))
        let text = proof?.exposed ?? ""
        demand(text.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a proof breaks no line of a request")
        let claims = text.split(separator: ".").dropFirst().first.flatMap { Base64URL.decode(String($0)) }
        let object = claims.flatMap { try? JSONValue(parsing: $0) }?.object
        demand(object?["nonce"]?.string == field && object?.members.count == 5, "a proof has the nonce, and no more")
    }

    private static func readChallenge(_ field: String) {
        guard DPoPChallenge.demandsNonce(field) else { return }
        // The bytes of a quoted string may be escaped.
        let plain = field.utf8.filter { $0 != UInt8(ascii: "\\") }.map { (65...90).contains($0) ? $0 | 0x20 : $0 }
        demand(has("dpop", in: plain), "a demand names the scheme")
        demand(has("use_dpop_nonce", in: plain), "a demand names the error")
    }

    private static func has(_ word: String, in bytes: [UInt8]) -> Bool {
        let word = Array(word.utf8)
        return bytes.indices.contains { bytes[$0...].starts(with: word) }
    }
}
