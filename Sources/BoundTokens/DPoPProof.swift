import Crypto
import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import StorageModel

/// A DPoP proof whose signature and whose claims about the request hold (RFC 9449 section 4.3). Whether it was used
/// before is not checked yet.
struct DPoPProof: Sendable {
    /// Why a proof is refused, for the developer of the app.
    struct Fault: Error {
        let problem: String
        init(_ problem: String) { self.problem = problem }
    }

    /// How many seconds a proof may be older than the server's time, or newer: phones' clocks are seldom right.
    static let tolerance: Int64 = 120
    static let maximumBytes = 4096
    static let field = HTTPField.Name("DPoP") ?? .from

    /// The thumbprint of its key (RFC 7638).
    let key: String
    /// Names the proof among all.
    let id: TokenHash
    /// Of the token that it is for.
    private let accessTokenHash: String?

    /// The proof of a request; nil without one.
    /// - Parameters:
    ///   - base: The URL of this server, as apps know it.
    ///   - now: The server's time.
    init?(of request: Request, below base: EndpointURL?, at now: Timestamp) throws(Fault) {
        let fields = request.headers.values(of: Self.field)
        guard let text = fields.first else { return nil }
        guard fields.count == 1, let token = CompactToken(Secret(text), maximumBytes: Self.maximumBytes),
            let jwk = token.header?["jwk"]?.object
        else { throw Fault("is not one signed JWT with a jwk") }
        guard let publicKey = Self.publicKey(jwk) else { throw Fault("has no public P-256 key, or more than that") }
        guard let claims = token.claims(ofType: "dpop+jwt", signedBy: publicKey) else {
            throw Fault("is not a dpop+jwt that its key has signed with ES256")
        }
        guard claims["htm"]?.string == request.method.rawValue else { throw Fault("has another htm") }
        guard let url = claims["htu"]?.string, let base, Self.names(url, request, below: base) else {
            throw Fault("has another htu")
        }
        let times = now.advanced(bySeconds: -Self.tolerance)...now.advanced(bySeconds: Self.tolerance)
        guard let issuedAt = claims["iat"]?.integer, times.contains(Timestamp(secondsSinceEpoch: issuedAt)) else {
            throw Fault("has no iat, or is more than \(Self.tolerance) seconds old or of the future")
        }
        guard let name = claims["jti"]?.string, !name.isEmpty else { throw Fault("has no jti") }
        key = PublicJWK(publicKey).thumbprint
        id = TokenHash(sha256Of: "proof of \(key) \(name)")
        accessTokenHash = claims["ath"]?.string
    }

    /// - Throws: If it is a proof for another token, or for none.
    func check(for token: String) throws(Fault) {
        let hash = SHA256.hash(data: Array(token.utf8))
        guard accessTokenHash == Base64URL.encode(Array(hash)) else { throw Fault("has another ath") }
    }

    /// Nil for another key than a public one on P-256.
    private static func publicKey(_ jwk: JSONObject) -> P256.Signing.PublicKey? {
        let secrets = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]
        guard jwk["kty"]?.string == "EC", jwk["crv"]?.string == "P-256", secrets.allSatisfy({ jwk[$0] == nil }),
            let x = jwk["x"]?.string.flatMap({ Base64URL.decode($0) }), x.count == 32,
            let y = jwk["y"]?.string.flatMap({ Base64URL.decode($0) }), y.count == 32
        else { return nil }
        return try? P256.Signing.PublicKey(rawRepresentation: x + y)
    }

    /// Whether a URL names a request's, without query and fragment, and however it is written (RFC 3986 section 6.2).
    private static func names(_ claimed: String, _ request: Request, below base: EndpointURL) -> Bool {
        let end = claimed.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        guard let url = EndpointURL(end.map { String(claimed[..<$0]) } ?? claimed, policy: .allowHTTP),
            url.scheme == base.scheme, url.authority == base.authority,
            let path = PercentEncoding.decodePath(url.path), let front = PercentEncoding.decodePath(base.path)
        else { return false }
        return path.hasSameBytes(as: (front.hasSuffix("/") ? String(front.dropLast()) : front) + request.path)
    }
}

extension EndpointURL {
    /// As it is written; `/` in place of an empty one.
    fileprivate var path: Substring.UTF8View {
        let rest = Substring(withoutQuery).utf8.dropFirst(scheme.rawValue.utf8.count + 3)
        return rest[(rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex)...]
    }
}
