import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// The parts of an ID token: valid until a test changes them.
struct TokenDraft: Sendable {
    static let issuer = "https://login.carrier.example/m/310999"
    static let now: Int64 = 1_800_000_000

    var header: JSONDraft
    var claims: JSONDraft
    var key: TestKey
    /// Makes a signature in place of the key's.
    var sign: (@Sendable (_ signed: [UInt8]) -> [UInt8])?
    /// The payload, if it is not a JSON object.
    var payload: String?
    /// Changes the finished text.
    var finish: @Sendable (String) -> String = { $0 }

    init(key: TestKey = .rsa1) {
        self.key = key
        header = [("alg", "\"\(key.algorithm)\""), ("typ", "\"JWT\""), ("kid", "\"\(key.keyID)\"")]
        claims = [
            ("iss", "\"\(Self.issuer)\""), ("sub", "\"310999-subject\""), ("aud", "\"client-1\""),
            ("exp", "\(Self.now + 300)"), ("iat", "\(Self.now - 1)"), ("auth_time", "\(Self.now - 10)"),
            ("nonce", "\"nonce-1\""), ("acr", "\"a3\""),
        ]
    }

    var text: String {
        finish(TokenText.compact(header: header.text, payload: payload ?? claims.text) { (sign ?? key.sign)($0) })
    }
}

/// The expectation of the tests' sign-in, with an optional change.
func expectation(_ change: (inout IDTokenExpectation) -> Void = { _ in }) throws -> IDTokenExpectation {
    guard let clientID = ClientID("client-1") else { throw OIDCError(.clientRefused, reason: "no client id") }
    var expectation = IDTokenExpectation(clientID: clientID, nonce: "nonce-1")
    change(&expectation)
    return expectation
}

/// The check that a token fails against a key set, or nil if it passes all. The explanation must agree.
func failedCheck(
    _ text: String, keySet: String, issuer: String = TokenDraft.issuer,
    types: [IDTokenType] = IDTokenType.standard, algorithms: Set<SigningAlgorithm> = [.rs256, .es256],
    now: Int64 = TokenDraft.now,
    expecting change: (inout IDTokenExpectation) -> Void = { _ in }
) throws -> IDTokenCheck? {
    var rules = IDTokenRules()
    rules.types = types
    let expectation = try expectation(change)
    let validator = IDTokenValidator(rules: rules, issuer: issuer)
    let time = Timestamp(secondsSinceEpoch: now)
    let keys = JSONWebKeySet(parsing: Array(keySet.utf8))
    let explanation = validator.explain(
        TokenExamination(Secret(text), rules, keys: keys.map { .success($0) } ?? .failure(.failed(.key))),
        signedWith: algorithms, expecting: expectation, now: time)
    let failed: IDTokenCheck?
    do throws(OIDCError) {
        let token = try SignedToken(
            Secret(text), maximumBytes: rules.maximumBytes, type: .marked(types), signedWith: algorithms)
        if let keys {
            _ = try validator.validate(token, keys: keys, expecting: expectation, now: time)
            failed = nil
        } else {
            failed = .key
        }
    } catch {
        failed = error.check
    }
    // The explanation must have the result of the sign-in.
    #expect(explanation.isAccepted == (failed == nil))
    let fault = explanation.steps.first { $0.verdict != .passed && $0.verdict != .notCompared }
    #expect(fault?.check == failed)
    #expect(explanation.steps.map(\.check) == IDTokenCheck.ofToken)
    return failed
}

extension IDTokenCheck {
    /// The checks of a signed token by itself; the others compare it with something else, or open what it is in.
    static let ofToken = allCases.filter { ![.encryption, .userInfoSubject, .sameUser].contains($0) }
}
