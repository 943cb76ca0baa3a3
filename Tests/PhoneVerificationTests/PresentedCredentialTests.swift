import Crypto
import Primitives
import TestSupport
import Testing

@testable import PhoneVerification

/// The pure part: how a presentation is read, and what it is checked against.
@Suite("Presentations of digital credentials")
struct PresentedCredentialTests {
    private static let wallet = TestSigningKey(keyID: "w")
    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    private static let start = Timestamp(secondsSinceEpoch: 1_799_999_900)

    private static func expected(_ origins: [String] = ["https://app.example"]) -> PresentedCredential.Expectation {
        .init(nonce: "N-1", origins: origins, since: start, now: now, skew: 60)
    }

    private static func issued(_ claims: String? = nil) throws -> String {
        try TestSigningKey(keyID: "i").token(claims: claims ?? #"{"cnf":{"jwk":\#(wallet.jwk)}}"#)
    }

    /// A presentation with these claims after `aud`, `nonce` and `sd_hash`.
    private static func presentation(
        _ before: String? = nil, aud: String = "https://app.example", nonce: String = "N-1",
        rest: String = #""iat":1800000000"#
    ) throws -> String {
        let before = try before ?? issued() + "~"
        let hash = Base64URL.encode(Array(SHA256.hash(data: Array(before.utf8))))
        let claims = #"{"aud":"\#(aud)","nonce":"\#(nonce)","sd_hash":"\#(hash)",\#(rest)}"#
        return before + (try wallet.token(claims: claims, type: "kb+jwt"))
    }

    private func failure(
        _ text: String, _ expected: PresentedCredential.Expectation = Self.expected()
    ) -> PresentedCredential.Check? {
        do throws(PresentedCredential.Check) {
            try PresentedCredential(text).check(expected)
            return nil
        } catch { return error }
    }

    @Test("One that is for the request passes, with and without disclosures")
    func right() throws {
        #expect(failure(try Self.presentation()) == nil)
        #expect(failure(try Self.presentation(try Self.issued() + "~WyJzYWx0IiwiYSIsMV0~")) == nil)
        #expect(failure(try Self.presentation(aud: "origin:https://app.example")) == nil)
    }

    @Test("The times are compared with those of the request, with the skew of clocks")
    func times() throws {
        let rows: [(iat: Int64, passes: Bool)] = [
            (1_799_999_839, false), (1_799_999_840, true), (1_800_000_060, true), (1_800_000_061, false),
        ]
        for row in rows {
            let text = try Self.presentation(rest: #""iat":\#(row.iat)"#)
            #expect(failure(text) == (row.passes ? nil : .issuedAt), "\(row)")
        }
        for (end, passes) in [(1_799_999_940, false), (1_799_999_941, true)] {
            let issued = try Self.issued(#"{"cnf":{"jwk":\#(Self.wallet.jwk)},"exp":\#(end)}"#)
            #expect(failure(try Self.presentation(issued + "~")) == (passes ? nil : .expiry), "\(end)")
        }
        let text = #"{"cnf":{"jwk":\#(Self.wallet.jwk)},"exp":"never"}"#
        #expect(failure(try Self.presentation(try Self.issued(text) + "~")) == .expiry)
    }

    @Test("Audience and nonce are compared byte by byte")
    func bytes() throws {
        let origins = [
            "https://APP.example", "https://app.example/", "origin:origin:https://app.example", "", "origin:",
        ]
        for aud in origins {
            #expect(failure(try Self.presentation(aud: aud)) == .audience, "\(aud)")
        }
        for nonce in ["n-1", "N-1 ", "", "N-\u{0031}\u{0301}"] {
            #expect(failure(try Self.presentation(nonce: nonce)) == .nonce, "\(nonce)")
        }
        #expect(failure(try Self.presentation(), Self.expected([])) == .audience)
    }

    @Test("The key is the one of the issuer's part, for ES256")
    func keys() throws {
        let keys = [
            "{}", #"{"cnf":{}}"#, #"{"cnf":{"jwk":7}}"#, #"{"cnf":{"kid":"w"}}"#,
            #"{"cnf":{"jwk":{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}}}"#,
            #"{"cnf":{"jwk":{"kty":"oct","k":"AAAA"}}}"#,
        ]
        for claims in keys {
            #expect(failure(try Self.presentation(try Self.issued(claims) + "~")) == .confirmationKey, "\(claims)")
        }
        let other = TestSigningKey(keyID: "w")
        let issued = try Self.issued(#"{"cnf":{"jwk":\#(other.jwk)}}"#)
        #expect(failure(try Self.presentation(issued + "~")) == .signature)
    }

    @Test("Another form is refused, whatever it is")
    func forms() throws {
        let right = try Self.presentation()
        let parts = right.split(separator: "~").map(String.init)
        let none = TokenText.compact(header: #"{"alg":"none","typ":"kb+jwt"}"#, payload: "{}") { _ in [1] }
        let critical = TokenText.compact(
            header: #"{"alg":"ES256","typ":"kb+jwt","crit":["b64"],"b64":false}"#, payload: "{}"
        ) { _ in [1] }
        let plain = try Self.wallet.token(claims: "{}", type: "JWT")
        let rows: [(text: String, check: PresentedCredential.Check)] = [
            ("", .format), ("~", .format), ("~~", .format), (parts[1], .format), (parts[0] + "~", .format),
            ("~" + parts[1], .format), ("a.b~" + parts[1], .format), (parts[0] + "~a.b", .format),
            (parts[0] + "~" + parts[1] + "~", .format), (parts[0] + "~" + plain, .type),
            (parts[0] + "~" + none, .algorithm), (parts[0] + "~" + critical, .algorithm),
            (String(repeating: "x", count: PresentedCredential.maximumBytes) + "~", .format),
        ]
        for row in rows { #expect(failure(row.text) == row.check, "\(row.text.prefix(40))") }
    }

    @Test("The hash is of all before the last part")
    func hash() throws {
        let issued = try Self.issued()
        let text = try Self.presentation(issued + "~")
        #expect(failure(text.replacing(issued + "~", with: issued + "~~")) == .hash)
        // The issuer's part of another credential with the same key.
        let other = try Self.issued()
        #expect(failure(text.replacing(issued, with: other)) == .hash)
        let sha512 = try Self.issued(#"{"cnf":{"jwk":\#(Self.wallet.jwk)},"_sd_alg":"sha-512"}"#)
        #expect(failure(try Self.presentation(sha512 + "~")) == .hash)
        let sha256 = try Self.issued(#"{"cnf":{"jwk":\#(Self.wallet.jwk)},"_sd_alg":"sha-256"}"#)
        #expect(failure(try Self.presentation(sha256 + "~")) == nil)
    }

    @Test("Each check says what it demands")
    func demands() {
        let demands = PresentedCredential.Check.allCases.map(\.demand)
        #expect(Set(demands).count == demands.count && demands.allSatisfy { !$0.hasSuffix(".") })
    }
}
