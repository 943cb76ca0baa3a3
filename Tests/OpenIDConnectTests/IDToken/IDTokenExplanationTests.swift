import OpenIDConnect
import Primitives
import TestSupport
import Testing

struct IDTokenExplanationTests {
    private static let now = TokenDraft.now

    private func explain(
        _ draft: TokenDraft, keys: Result<String, OIDCError> = .success(TestKey.keySet(.rsa1)), now: Int64 = now,
        expecting change: (inout IDTokenExpectation) -> Void = { _ in }
    ) throws -> IDTokenExplanation {
        let keys: Result<JSONWebKeySet, OIDCError> = keys.flatMap {
            JSONWebKeySet(parsing: Array($0.utf8)).map { .success($0) } ?? .failure(.failed(.key))
        }
        return IDTokenValidator(issuer: TokenDraft.issuer).explain(
            TokenExamination(Secret(draft.text), IDTokenRules(), keys: keys),
            signedWith: Set(SigningAlgorithm.allCases), expecting: try expectation(change),
            now: Timestamp(secondsSinceEpoch: now))
    }

    private func failed(_ explanation: IDTokenExplanation) -> [IDTokenCheck] {
        explanation.steps.filter { $0.verdict == .failed }.map(\.check)
    }

    private func notPossible(_ explanation: IDTokenExplanation) -> [IDTokenCheck] {
        explanation.steps.filter { $0.verdict == .notPossible }.map(\.check)
    }

    @Test("All checks are made, not only up to the first that fails")
    func allSteps() throws {
        var draft = TokenDraft()
        draft.header["typ"] = "\"at+jwt\""
        draft.sign = { _ in [1, 2, 3] }
        draft.claims["iss"] = "\"https://example.org/\""
        draft.claims["aud"] = "[\"client-1\",\"other\"]"
        draft.claims["exp"] = "\(Self.now - 360)"
        draft.claims["nonce"] = "\"another\""
        let explanation = try explain(draft)
        #expect(failed(explanation) == [.type, .signature, .issuer, .audience, .expiry, .nonce])
        #expect(notPossible(explanation) == [])
        #expect(explanation.isRefused)
    }

    @Test("An expired token is explained step by step, and at another moment it is accepted")
    func otherMoment() throws {
        let later = try explain(TokenDraft(), now: Self.now + 3600)
        #expect(failed(later) == [.expiry, .issuedAt])
        let expiry = try #require(later.steps.first { $0.check == .expiry })
        #expect(expiry.found.contains("2027-01-15T08:05:00Z, 3300 s ago"), "\(expiry.found)")
        #expect(try explain(TokenDraft()).isAccepted)
    }

    @Test(
        "The expiry is told as before or after now, and that it is not after the time of issue",
        arguments: [(Int64(1), "in 1 s", false), (0, "0 s ago", true), (-1, "1 s ago", true)])
    func expiry(_ seconds: Int64, _ distance: String, isNotAfterIssue: Bool) throws {
        var draft = TokenDraft()
        draft.claims["exp"] = "\(Self.now + seconds)"
        draft.claims["iat"] = "\(Self.now)"
        let found = try #require(try explain(draft).steps.first { $0.check == .expiry }).found
        #expect(found.contains(", \(distance)"), "\(found)")
        #expect(found.contains("exp is not after iat") == isNotAfterIssue, "\(found)")
    }

    @Test("Of the provider's keys eight are shown, and the number of all if there are more")
    func manyKeys() throws {
        for (count, rest) in [(8, nil), (9, ", … (9 in all)")] {
            let keys = (1...count).map { TestKey.ec1.named("k\($0)").jwk }
            let explanation = try explain(TokenDraft(), keys: .success(TestKey.keySet(keys)))
            let found = try #require(explanation.steps.first { $0.check == .key }).found
            #expect(found.hasSuffix("«k8» (ES256)" + (rest ?? "")), "\(found)")
        }
    }

    @Test("An unreadable part makes only the checks of that part impossible")
    func unreadable() throws {
        let ofHeader: [IDTokenCheck] = [.criticalHeader, .type, .algorithm]
        let ofSignature: [IDTokenCheck] = [.key, .signature]
        let ofClaims = Array(IDTokenCheck.ofToken.drop { $0 != .issuer })
        var draft = TokenDraft()

        draft.payload = "no JSON"
        #expect(failed(try explain(draft)) == [.claims])
        #expect(notPossible(try explain(draft)) == ofClaims)

        draft = TokenDraft()
        draft.header = [("alg", "\"none\"")]
        draft.sign = { _ in [] }
        #expect(failed(try explain(draft)) == [.format, .algorithm])
        #expect(notPossible(try explain(draft)) == ofSignature)

        draft = TokenDraft()
        draft.finish = { "e30x" + $0.drop { $0 != "." } }
        #expect(failed(try explain(draft)) == [.format])
        #expect(notPossible(try explain(draft)) == ofHeader + ofSignature)

        draft.finish = { _ in "nothing" }
        #expect(notPossible(try explain(draft)) == ofHeader + ofSignature + [.claims] + ofClaims)
    }

    @Test("Without keys the other checks are still explained, and the token is not refused")
    func noKeys() throws {
        let down = try explain(TokenDraft(), keys: .failure(OIDCError(.timedOut, reason: "No answer.")))
        #expect(notPossible(down) == [.key, .signature])
        #expect(!down.isRefused)
        #expect(!down.isAccepted)
        let weak = try explain(TokenDraft(), keys: .failure(.failed(.key)))
        #expect(failed(weak) == [.key])
        #expect(failed(try explain(TokenDraft(), keys: .success(TestKey.keySet(.rsa2)))) == [.key])
    }

    @Test("No finding contains a subject, nonce, context or other claim of a user")
    func privacy() throws {
        var draft = TokenDraft()
        draft.claims["sub"] = "\"subject-hunter2\""
        draft.claims["nonce"] = "\"nonce-hunter2\""
        draft.claims["context"] = "\"context-hunter2\""
        draft.claims["email"] = "\"hunter2@example.com\""
        draft.claims["at_hash"] = "\"hash-hunter2\""
        for explanation in [
            try explain(draft),
            try explain(draft) {
                $0.nonce = "hunter2"
                $0.demand.context = "hunter2"
                $0.accessToken = Secret("hunter2")
            },
        ] {
            for step in explanation.steps { #expect(!step.found.contains("hunter2"), "\(step.found)") }
            var dumped = ""
            dump(explanation, to: &dumped)
            #expect(!"\(explanation) \(String(reflecting: explanation)) \(dumped)".contains("hunter2"))
        }
        #expect(try explain(draft).claims?["email"]?.string == "hunter2@example.com")
    }

    @Test("Text of a token cannot end a line or control a terminal")
    func injection() throws {
        var draft = TokenDraft()
        let hostile = #""\n\u001b[2J\u202e"# + String(repeating: "x", count: 300) + "\""
        for name in ["iss", "aud", "azp", "acr", "sub"] { draft.claims[name] = hostile }
        for name in ["typ", "alg", "kid"] { draft.header[name] = hostile }
        for step in try explain(draft).steps {
            #expect(!step.found.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E }, "\(step.check)")
            #expect(step.found.unicodeScalars.count < 400)
        }
    }
}
