import Crypto
import CryptoExtras
import Primitives
import Testing

@testable import OpenIDConnect

/// What a proof has, by the rules of RFC 9449 sections 4.2 and 4.3.
@Suite("DPoP proofs")
struct DPoPProofTests {
    private let key = DPoPKey()

    private func proof(
        _ method: OutboundRequest.Method = .post, _ url: String = "https://op.example/token",
        accessToken: String? = nil, nonce: String? = nil, demanding claims: Set<DPoPClaim> = [], body: String = ""
    ) throws -> SentProof {
        let url = try #require(EndpointURL(url, policy: .httpsOnly))
        let request = OutboundRequest(
            method: method, url: url, body: Array(body.utf8), timeout: .seconds(1), maximumBodyBytes: 1)
        let proof = try key.proof(
            for: request, accessToken: accessToken.map { Secret($0) }, nonce: nonce.flatMap(DPoPNonce.init),
            claims: claims, id: "id-1", now: Timestamp(secondsSinceEpoch: 1_800_000_000))
        return try SentProof(proof.exposed)
    }

    @Test("The header has typ dpop+jwt, alg ES256 and the public key, and no more")
    func header() throws {
        let proof = try proof()
        #expect(Set(proof.header.members.map(\.name)) == ["typ", "alg", "jwk"])
        #expect(proof.header["typ"]?.string == "dpop+jwt")
        #expect(proof.header["alg"]?.string == "ES256")
        let jwk = try #require(proof.header["jwk"]?.object)
        #expect(Set(jwk.members.map(\.name)) == ["kty", "crv", "x", "y"], "no private member")
        #expect(proof.isSigned)
        #expect(proof.thumbprint == key.thumbprint)
    }

    @Test("The claims of a request without access token and nonce are jti, htm, htu and iat")
    func claims() throws {
        let claims = try proof().claims
        #expect(Set(claims.members.map(\.name)) == ["jti", "htm", "htu", "iat"])
        #expect(claims["jti"]?.string == "id-1")
        #expect(claims["htm"]?.string == "POST")
        #expect(claims["htu"]?.string == "https://op.example/token")
        #expect(claims["iat"]?.integer == 1_800_000_000)
    }

    @Test("htm is the method")
    func method() throws { #expect(try proof(.get).claims["htm"]?.string == "GET") }

    @Test(
        "htu is the URL without its query",
        arguments: [
            ("https://op.example/token", "https://op.example/token"),
            ("https://op.example/token?a=/b?c", "https://op.example/token"),
            ("https://op.example/token?", "https://op.example/token"), ("https://op.example", "https://op.example/"),
            ("https://op.example?a=/b/c", "https://op.example/"), ("https://op.example/?a", "https://op.example/"),
            ("https://op.example:8443/a/b/", "https://op.example:8443/a/b/"),
            ("https://[::1]:8443/a%2Fb", "https://[::1]:8443/a%2Fb"),
        ])
    func url(_ url: String, _ htu: String) throws { #expect(try proof(.get, url).claims["htu"]?.string == htu) }

    @Test("ath is the hash of the access token, as in the example of RFC 9449 section 7.1")
    func accessToken() throws {
        let claims = try proof(.get, accessToken: "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU").claims
        #expect(claims["ath"]?.string == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
    }

    @Test("nonce is the server's")
    func nonce() throws { #expect(try proof(nonce: "n-1").claims["nonce"]?.string == "n-1") }

    /// The hash of no bytes.
    private static let ofNothing = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"

    @Test(
        "camara:bh is the hash of the body, and camara:qh that of the query as it is sent, where they are demanded",
        arguments: [
            ([], "https://op.example/t?a=b%2Fc", "x", nil, nil),
            (
                [.bodyHash], "https://op.example/t?a=b%2Fc", "grant_type=x",
                "0nJj1NqwmCv4m5KZx7yuaJZZYuZYOK6hbCyDVrNsCD8", nil
            ),
            ([.bodyHash, .queryHash], "https://op.example/t", "", ofNothing, nil),
            ([.bodyHash, .queryHash], "https://op.example/t?", "", ofNothing, ofNothing),
            (
                [.queryHash], "https://op.example/t?a=b%2Fc", "grant_type=x", nil,
                "0hp3cOF1Sit8Zf8ptnDMM1UYK9mytQS-yUFOVTkFqS4"
            ),
        ] as [(Set<DPoPClaim>, String, String, String?, String?)])
    func content(_ demanded: Set<DPoPClaim>, _ url: String, _ body: String, _ bh: String?, _ qh: String?) throws {
        let claims = try proof(.post, url, demanding: demanded, body: body).claims
        #expect(claims["camara:bh"]?.string == bh)
        #expect(claims["camara:qh"]?.string == qh)
        #expect(claims["htu"]?.string == "https://op.example/t")
    }

    @Test("A key that is stored and read again is the same, and prints nothing")
    func storage() throws {
        let read = try #require(DPoPKey(secret: key.secret))
        #expect(read == key && read.thumbprint == key.thumbprint && read.secret == key.secret)
        #expect(DPoPKey() != key)
        #expect("\(key)" == "‹redacted›" && String(reflecting: key) == "‹redacted›")
        for text in ["", "AAAA", String(repeating: "A", count: 43), "!", key.secret.exposed + "AA"] {
            #expect(DPoPKey(secret: Secret(text)) == nil, "\(text)")
        }
    }

    @Test("The thumbprint is that of RFC 7638 section 3.1 and of RFC 9449 section 6.1")
    func thumbprint() throws {
        let modulus =
            "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJE"
            + "CPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2Q"
            + "vzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6"
            + "WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
        let rsa = try _RSA.Signing.PublicKey(
            n: try #require(Base64URL.decode(modulus)), e: [1, 0, 1] as [UInt8])
        #expect(PublicJWK(rsa).thumbprint == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
        let point = ["l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs", "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"]
        let p256 = try P256.Signing.PublicKey(
            rawRepresentation: try point.flatMap { try #require(Base64URL.decode($0)) })
        #expect(PublicJWK(p256).thumbprint == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
    }
}
