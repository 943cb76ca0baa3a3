import Crypto
import Foundation
import LatchkeyConfiguration
import LatchkeyService
import Primitives
import SignIn
import TestSupport
import Testing

/// Receipts at the operator's services, over real sockets.
@Suite(.serialized) struct ReceiptTests {
    private static func receipt(on harness: SignInHarness) async throws -> String {
        let token = try #require(try await harness.session())
        return try #require(try await harness.app.authorize(try harness.transaction(), token).json["receipt"]?.string)
    }

    @Test("A receipt is redeemed once and contains what was approved")
    func redeemed() async throws {
        try await SignInHarness.with { harness in
            let token = try #require(try await harness.session())
            let approved = try await harness.app.authorize(try harness.transaction(), token)
            let receipt = try #require(approved.json["receipt"]?.string)
            let answer = try await harness.app.redeem(receipt)
            #expect(answer.status == 200)
            #expect(answer.json["redeemed"]?.bool == true)
            #expect(answer.json["context"]?.string == SignInHarness.context)
            #expect(answer.json["acr"]?.string == "a3")
            #expect(answer.json["auth_time"] == approved.json["auth_time"])
            #expect(answer.json["aud"]?.string == SignInHarness.clientID)
            #expect(answer.json["iss"]?.string == "latchkey")
            let publicID = try await harness.app.me(token).json["zenkey_sub"]?.string
            #expect(answer.json["sub"]?.string == publicID)
            #expect(answer.response["cache-control"] == "no-store")

            let again = try await harness.app.redeem(receipt)
            #expect(again.status == 409)
            #expect(again.error == "receipt_redeemed")
            #expect(again.json["error_type"]?.string == "requestDenied")
            #expect(again.json["error_description"]?.string?.contains("redeemed before") == true)
        }
    }

    @Test("Of concurrent redemptions of a receipt in two processes, one succeeds")
    func atOnce() async throws {
        try await SignInHarness.with { harness in
            let receipt = try await Self.receipt(on: harness)
            try await harness.withInstance { instance, _ in
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<12 {
                        group.addTask { try await (number % 2 == 0 ? harness.app : instance).redeem(receipt).status }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.sorted() == [200] + [Int](repeating: 409, count: 11))
            }
        }
    }

    @Test("A receipt is accepted until it expires", arguments: [299, 300])
    func expired(age: Int64) async throws {
        let clock = ManualClock()
        try await SignInHarness.with(clock: clock.wallClock) { harness in
            let receipt = try await Self.receipt(on: harness)
            clock.advance(bySeconds: age)
            let response = try await harness.app.redeem(receipt)
            #expect(response.status == (age < 300 ? 200 : 401))
            let text = response.json["error_description"]?.string ?? "expired"
            #expect(text.contains("expired"))
        }
    }

    @Test("The receipt of an erased user is refused")
    func erased() async throws {
        try await SignInHarness.with { harness in
            let token = try #require(try await harness.session())
            let response = try await harness.app.authorize(try harness.transaction(), token)
            let receipt = try #require(response.json["receipt"]?.string)
            let headers = ["Authorization: Bearer \(token)"]
            #expect(try await harness.app.send("DELETE", "/users/me", headers: headers).status == 200)
            #expect(try await harness.app.redeem(receipt).status == 401)
        }
    }

    @Test("A forged receipt is refused and does not spend the genuine one")
    func forged() async throws {
        try await SignInHarness.with { harness in
            let receipt = try await Self.receipt(on: harness)
            let session = try #require(try await harness.session())
            for (name, forgery) in try Forgery.all(of: receipt) + [("a session token", session)] {
                let response = try await harness.app.redeem(forgery)
                #expect(response.status == 401, "\(name)")
                #expect(response.error == "invalid_token", "\(name)")
                #expect(throws: (any Error).self, "\(name)") {
                    _ = try ReceiptReader(keySet: Array(#"{"keys":[]}"#.utf8)).claims(of: forgery)
                }
            }
            #expect(try await harness.app.redeem("").status == 400)
            #expect(try await harness.app.redeem(String(repeating: "r", count: 8193)).status == 400)
            #expect(try await harness.app.redeem(receipt).status == 200)
        }
    }

    @Test("Redeeming requires an API key; an allowed origin is not sufficient")
    func apiKey() async throws {
        let origin = "https://app.example"
        try await SignInHarness.with(configure: { $0.allowedOrigins = [Origin(origin)].compactMap(\.self) }) {
            harness in
            let receipt = try await Self.receipt(on: harness)
            var stranger = harness.app
            for key in [nil, "another-key"] {
                stranger.apiKey = key
                for headers in [[], ["Origin: \(origin)"]] {
                    let response = try await stranger.send(
                        "POST", "/auth/receipts/redeem", headers: ["Content-Type: application/json"] + headers,
                        body: App.json(["receipt": receipt]))
                    #expect(response.status == 401)
                    #expect(response.error == "invalid_api_key")
                }
            }
            #expect(try await harness.app.redeem(receipt).status == 200)
        }
    }

    @Test("The published keys are cacheable and contain no private parts")
    func keySet() async throws {
        try await SignInHarness.with { harness in
            var stranger = harness.app
            stranger.apiKey = nil
            let answer = try await stranger.send("GET", "/.well-known/jwks.json")
            #expect(answer.status == 200)
            #expect(answer.response["cache-control"] == "public, max-age=3600")
            #expect(answer.response["content-type"] == "application/jwk-set+json")
            let keys = answer.json["keys"]?.array ?? []
            #expect(keys.count == 1)
            let names = keys.first?.object?.members.map(\.name) ?? []
            #expect(names.sorted() == ["alg", "crv", "kid", "kty", "use", "x", "y"])
        }
    }

    /// Keys rotate every two days here. A service fetches them when its cached keys are an hour old, never because of a
    /// receipt; two processes issue receipts in turn, one with a slow clock.
    @Test("A service with cached keys can verify every receipt during key rotation")
    func rotation() async throws {
        let clock = ManualClock()
        let late = WallClock { clock.now.advanced(bySeconds: -50) }
        try await SignInHarness.with(
            clock: clock.wallClock,
            configure: {
                $0.signingKeys.lifetime = 2 * 86_400
                // A week of one user's receipts, in seconds.
                $0.rateLimits = false
            }
        ) { harness in
            try await harness.withInstance(clock: late) { instance, instanceService in
                var reader = try await harness.app.receiptReader()
                var fetched = clock.now
                var last: String?
                var keyIDs: Set<String> = []
                for step in 0..<140 {
                    let app = step % 2 == 0 ? harness.app : instance
                    let token = try #require(try await app.signIn(try harness.authorizedResponse()).token)
                    let response = try await app.authorize(try harness.transaction(), token)
                    let receipt = try #require(response.json["receipt"]?.string)
                    _ = try reader.claims(of: receipt)
                    clock.advance(bySeconds: 55 * 60)
                    await (step % 3 == 0 ? instanceService : harness.service).keepSigningKeys()
                    if clock.now >= fetched.advanced(bySeconds: 3600) {
                        reader = try await (step % 4 == 0 ? harness.app : instance).receiptReader()
                        fetched = clock.now
                        keyIDs.formUnion(reader.keyIDs)
                        #expect(reader.keyIDs.count <= 3)
                        // Receipts issued before the fetch can still be verified with the fetched keys.
                        if let last { _ = try reader.claims(of: last) }
                    }
                    last = receipt
                }
                #expect(keyIDs.count >= 3)
            }
        }
    }
}

/// Strings that look like a receipt.
private enum Forgery {
    static func all(of receipt: String) throws -> [(String, String)] {
        let parts = receipt.components(separatedBy: ".")
        let (header, claims, signature) = (parts[0], parts[1], parts[2])
        let keyID = try #require(try member("kid", of: header))
        let stranger = P256.Signing.PrivateKey()
        let others = try changed(claims, "context", "Pay a million")
        func sign(_ header: String, _ claims: String) throws -> String {
            let signed = "\(header).\(claims)"
            let signature = try stranger.signature(for: SHA256.hash(data: Data(signed.utf8))).rawRepresentation
            return "\(signed).\(Base64URL.encode(signature))"
        }
        let none = Base64URL.encode(Data(#"{"alg":"none","typ":"receipt+jwt","kid":"\#(keyID)"}"#.utf8))
        let hmac = Base64URL.encode(Data(#"{"alg":"HS256","typ":"receipt+jwt","kid":"\#(keyID)"}"#.utf8))
        return [
            ("other claims", "\(header).\(others).\(signature)"), ("a stranger's key", try sign(header, claims)),
            ("a key that is not published", try sign(try changed(header, "kid", "stranger"), others)),
            ("another type", try sign(try changed(header, "typ", "JWT"), claims)),
            ("no signature", "\(header).\(claims)."), ("no algorithm", "\(none).\(claims)."),
            ("HMAC", "\(hmac).\(claims).\(signature)"), ("two parts", "\(header).\(claims)"),
            ("four parts", receipt + ".x"), ("padding", receipt + "="), ("no JWT at all", "x.y.z"),
            ("half a signature", String(receipt.dropLast(40))),
        ]
    }

    private static func object(_ part: String) throws -> [String: Any] {
        let bytes = try #require(Base64URL.decode(part))
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    private static func member(_ name: String, of part: String) throws -> String? { try object(part)[name] as? String }

    private static func changed(_ part: String, _ name: String, _ value: String) throws -> String {
        var object = try object(part)
        object[name] = value
        return Base64URL.encode(try JSONSerialization.data(withJSONObject: object))
    }
}
