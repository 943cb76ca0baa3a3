import Crypto
import OpenIDConnect
import Primitives
import TestSupport

@testable import SignIn

/// A text that is not one of this server's session tokens, and looks like one.
struct Forgery: Sendable {
    /// What a forger has at most: two genuine tokens, and for most rows even the server's key, so that only the rule in
    /// question refuses the text.
    struct Material {
        let own: JWT
        let other: JWT
        let keyID: String
        let key: P256.Signing.PrivateKey
        let now: Timestamp

        /// The members of the own token's header or claims, with changes as JSON; nil omits one.
        private func changed(_ object: JSONObject?, _ changes: [String: String?]) -> String {
            var members = (object?.members ?? []).map { (name: $0.name, json: Self.json($0.value)) }
            for (name, json) in changes.sorted(by: { $0.key < $1.key }) {
                members.removeAll { $0.name == name }
                if let json { members.append((name, json)) }
            }
            return TokenText.object(members)
        }

        private static func json(_ value: JSONValue) -> String {
            value.integer.map { "\($0)" } ?? "\"\(value.string ?? "")\""
        }

        func header(_ changes: [String: String?]) -> String { changed(own.header, changes) }
        func claims(_ changes: [String: String?]) -> String { changed(own.claims, changes) }

        /// The own token with changes, signed with ES256.
        func signed(
            header: [String: String?] = [:], claims: [String: String?] = [:], by key: P256.Signing.PrivateKey? = nil
        ) throws -> String {
            let (header, claims) = (self.header(header), self.claims(claims))
            let key = key ?? self.key
            var signature: [UInt8] = []
            let signed = "\(Base64URL.encode(header.utf8)).\(Base64URL.encode(claims.utf8))"
            signature = Array(try key.signature(for: Array(signed.utf8)).rawRepresentation)
            return "\(signed).\(Base64URL.encode(signature))"
        }

        /// The own token with other claims and the old signature.
        func unsigned(claims: [String: String?]) -> String {
            "\(own.parts[0]).\(Base64URL.encode(self.claims(claims).utf8)).\(own.parts[2])"
        }

        /// With HS256, by a key that everybody knows.
        func hashed(with secret: [UInt8]) -> String {
            TokenText.compact(header: header(["alg": "\"HS256\""]), payload: claims([:])) { signed in
                Array(HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: secret)))
            }
        }

        var text: String { own.parts.joined(separator: ".") }
        func claim(_ name: String) -> String { other.claims[name]?.string ?? "" }
        func quoted(_ name: String) -> String { "\"\(claim(name))\"" }
    }

    let name: String
    let make: @Sendable (Material) throws -> String

    init(_ name: String, _ make: @escaping @Sendable (Material) throws -> String) {
        (self.name, self.make) = (name, make)
    }

    /// The claim or the member of the header, with a value as JSON that it must not have; nil for none.
    private static func claim(_ name: String, _ json: String?) -> Forgery {
        Forgery("with the \(name) \(json ?? "left out")") { try $0.signed(claims: [name: json]) }
    }

    private static func header(_ name: String, _ json: String?) -> Forgery {
        Forgery("with the header's \(name) \(json ?? "left out")") { try $0.signed(header: [name: json]) }
    }

    static let all: [Forgery] = signatures + headers + claims + forms

    private static let signatures: [Forgery] = [
        Forgery("unsigned") { material in
            TokenText.compact(header: material.header(["alg": "\"none\""]), payload: material.claims([:])) { _ in [] }
        },
        Forgery("unsigned, as ES256") { "\($0.own.parts[0]).\($0.own.parts[1])." },
        Forgery("HS256 with the public point") { $0.hashed(with: Array($0.key.publicKey.rawRepresentation)) },
        Forgery("HS256 with the public key in PEM") { $0.hashed(with: Array($0.key.publicKey.pemRepresentation.utf8)) },
        Forgery("HS256 with the key id") { $0.hashed(with: Array($0.keyID.utf8)) },
        Forgery("of another key under the same kid") { try $0.signed(by: P256.Signing.PrivateKey()) },
        Forgery("of another key under its own kid") { material in
            let key = SigningKey()
            let claims = Array(material.claims([:]).utf8)
            return try key.token(type: "at+jwt", naming: .keyID, claims: claims).exposed
        },
        Forgery("of another key in the header") { material in
            try SigningKey().token(type: "at+jwt", naming: .publicKey, claims: Array(material.claims([:]).utf8)).exposed
        },
        Forgery("with the signature of another token") {
            "\($0.own.parts[0]).\($0.own.parts[1]).\($0.other.parts[2])"
        },
        Forgery("with a signature of zeros") {
            "\($0.own.parts[0]).\($0.own.parts[1]).\(Base64URL.encode([UInt8](repeating: 0, count: 64)))"
        },
        Forgery("with another subject and the old signature") { $0.unsigned(claims: ["sub": $0.quoted("sub")]) },
        Forgery("with a later end and the old signature") { $0.unsigned(claims: ["exp": "4000000000"]) },
        Forgery("with another audience and the old signature") {
            $0.unsigned(claims: ["aud": "\"https://x.example\""])
        },
        Forgery("with another session's jti and the old signature") { $0.unsigned(claims: ["jti": $0.quoted("jti")]) },
    ]

    private static let headers: [Forgery] = [
        header("typ", "\"JWT\""), header("typ", "\"receipt+jwt\""), header("typ", "\"token-introspection+jwt\""),
        header("typ", "\"logout+jwt\""), header("typ", "\"AT+JWT\""), header("typ", nil), header("typ", "1"),
        header("kid", nil), header("kid", "\"another\""), header("kid", "\"\""), header("kid", "1"),
        header("alg", "\"ES384\""), header("alg", "\"EdDSA\""), header("alg", "\"RS256\""), header("alg", nil),
        header("crit", "[\"exp\"]"),
    ]

    private static let claims: [Forgery] = [
        claim("iss", nil), claim("iss", "\"https://login.example\""), claim("iss", "\"https://login.example/base/\""),
        claim("iss", "[\"https://login.example/base\"]"), claim("sub", nil), claim("sub", "\"another\""),
        claim("exp", nil), claim("exp", "\"4000000000\""), claim("exp", "-1"), claim("sid", nil),
        claim("sid", "\"another\""), claim("client_id", nil), claim("client_id", "\"client-2\""), claim("jti", nil),
        claim("jti", "1"), claim("jti", "\"\""), claim("jti", "\"c2hvcnQ\""), claim("jti", "\"!\""),
        Forgery("expired now") { try $0.signed(claims: ["exp": "\($0.now.secondsSinceEpoch)"]) },
        Forgery("with the jti of another session") { try $0.signed(claims: ["jti": $0.quoted("jti")]) },
        Forgery("with the sid of another session") { try $0.signed(claims: ["sid": $0.quoted("sid")]) },
        Forgery("with the jti of no session") {
            try $0.signed(claims: ["jti": "\"\(Base64URL.encode([UInt8](repeating: 7, count: 32)))\""])
        },
    ]

    private static let forms: [Forgery] = [
        Forgery("with a fourth part") { $0.text + "." + $0.own.parts[2] },
        Forgery("with a dot at the end") { $0.text + "." },
        Forgery("with two parts") { "\($0.own.parts[0]).\($0.own.parts[1])" },
        Forgery("with five parts, as an encrypted one") { "\($0.text).\($0.own.parts[0]).\($0.own.parts[1])" },
        Forgery("without a header") { ".\($0.own.parts[1]).\($0.own.parts[2])" },
        Forgery("padded in base64") { $0.text + "=" },
        Forgery("of dots") { _ in String(repeating: ".", count: 100) },
        Forgery("with the same claim twice") { material in
            let claims = "{" + material.claims([:]).dropFirst().dropLast() + ",\"exp\":4000000000}"
            return try SigningKey(material.key).token(type: "at+jwt", naming: .keyID, claims: Array(claims.utf8))
                .exposed
        },
        Forgery("with claims that are a list") { material in
            try SigningKey(material.key).token(type: "at+jwt", naming: .keyID, claims: Array("[]".utf8)).exposed
        },
        Forgery("longer than 4096 characters") { material in
            try material.signed(claims: ["padding": "\"\(String(repeating: "a", count: 3_000))\""])
        },
    ]
}
