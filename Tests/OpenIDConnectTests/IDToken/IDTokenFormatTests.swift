import OpenIDConnect
import Primitives
import TestSupport
import Testing

extension TokenCase {
    fileprivate static func text(_ name: String, _ finish: @escaping @Sendable (String) -> String) -> TokenCase {
        TokenCase(name, .format) { $0.finish = finish }
    }

    fileprivate static func header(_ text: String, _ check: IDTokenCheck) -> TokenCase {
        TokenCase("header \(text)", check) { draft in
            let encoded = Base64URL.encode(text.utf8)
            draft.finish = { encoded + $0.drop { $0 != "." } }
        }
    }

    fileprivate static func member(_ name: String, _ json: String?, _ check: IDTokenCheck?) -> TokenCase {
        TokenCase("\(name) \(json ?? "absent")", check) { $0.header[name] = json }
    }
}

struct IDTokenFormatTests {
    private func verify(_ row: TokenCase) throws {
        var draft = TokenDraft()
        row.change(&draft)
        #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1)) == row.check)
    }

    @Test(
        "Only strict compact form is read",
        arguments: [
            .text("empty") { _ in "" }, .text("a dot") { _ in "." }, .text("two dots") { _ in ".." },
            .text("no signature") { $0.split(separator: ".").prefix(2).joined(separator: ".") },
            .text("empty signature") { $0.split(separator: ".").prefix(2).joined(separator: ".") + "." },
            .text("empty payload") { text in
                let parts = text.split(separator: ".")
                return "\(parts[0])..\(parts[2])"
            },
            .text("empty header") { "." + $0.split(separator: ".").dropFirst().joined(separator: ".") },
            .text("four parts") { $0 + ".AA" }, .text("five parts") { $0 + ".AA.AA" }, .text("dot behind") { $0 + "." },
            .text("padding") { $0 + "=" }, .text("line end") { $0 + "\n" }, .text("blank in front") { " " + $0 },
            .text("no base64url") { $0.replacing("_", with: "/").replacing("-", with: "+") + "+" },
            .text("quoted") { "\"" + $0 + "\"" }, .text("JSON serialization") { "{\"payload\":\"\($0)\"}" },
            .text("too long") { $0 + String(repeating: "A", count: 65_536) },
            .text("a megabyte of dots") { _ in String(repeating: ".", count: 1_000_000) },
        ] as [TokenCase])
    func compactForm(_ row: TokenCase) throws { try verify(row) }

    @Test("A token of exactly the allowed size is read, one byte more is not")
    func size() throws {
        let text = TokenDraft().text
        let size = text.utf8.count
        #expect(throws: Never.self) { try SignedToken(Secret(text), maximumBytes: size, signedWith: [.rs256]) }
        #expect(throws: OIDCError.failed(.format)) {
            try SignedToken(Secret(text), maximumBytes: size - 1, signedWith: [.rs256])
        }
    }

    @Test(
        "The header is one strict JSON object",
        arguments: [
            .header("[]", .format), .header("null", .format), .header("\"RS256\"", .format), .header("{", .format),
            .header("{\"alg\":\"RS256\"}x", .format), .header("\u{FEFF}{\"alg\":\"RS256\"}", .format),
            TokenCase("alg twice", .format) { $0.header.add("alg", "\"RS256\"") },
            TokenCase("kid twice", .format) { $0.header.add("kid", "\"rsa-1\"") },
            .member("kid", "1", .format), .member("kid", "null", .format), .member("kid", "[\"rsa-1\"]", .format),
        ] as [TokenCase])
    func headerObject(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "Extensions that change how a token is read are refused, whatever their value",
        arguments: [
            .member("crit", "[\"x\"]", .criticalHeader), .member("crit", "[]", .criticalHeader),
            .member("crit", "\"x\"", .criticalHeader), .member("crit", "[\"alg\"]", .criticalHeader),
            .member("crit", "null", .criticalHeader), .member("crit", "[\"exp\",\"b64\"]", .criticalHeader),
            .member("b64", "false", .criticalHeader), .member("b64", "true", .criticalHeader),
        ] as [TokenCase])
    func extensions(_ row: TokenCase) throws { try verify(row) }

    @Test(
        "A token of another type is refused",
        arguments: [
            .member("typ", "\"JWT\"", nil), .member("typ", "\"jwt\"", nil), .member("typ", nil, nil),
            .member("typ", "\"logout+jwt\"", .type), .member("typ", "\"at+jwt\"", .type),
            .member("typ", "\"port_token+jwt\"", .type),
            .member("typ", "\"JOSE\"", .type), .member("typ", "\"application/jwt\"", .type),
            .member("typ", "\"\"", .type),
            .member("typ", "null", .type), .member("typ", "1", .type),
        ] as [TokenCase])
    func type(_ row: TokenCase) throws { try verify(row) }

    @Test("Keys that a header contains or points to are not used")
    func embeddedKeys() throws {
        let foreign = TestKey.rsa2
        for (name, json) in [
            ("jwk", foreign.jwk.text), ("jku", "\"https://canary.example/jwks\""),
            ("x5u", "\"https://canary.example/x5u\""),
            ("x5c", "[\"MIIB\"]"),
        ] {
            var draft = TokenDraft(key: foreign)
            draft.header[name] = json
            #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1)) == .key)
            draft.header["kid"] = "\"rsa-1\""
            #expect(try failedCheck(draft.text, keySet: TestKey.keySet(.rsa1)) == .signature)
            var honest = TokenDraft()
            honest.header[name] = json
            #expect(try failedCheck(honest.text, keySet: TestKey.keySet(.rsa1)) == nil)
        }
    }
}
