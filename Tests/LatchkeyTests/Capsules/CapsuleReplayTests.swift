import Capsules
import CarrierSimulator
import Foundation
import HTTPServer
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// The capsules of `Tests/Capsules`, each of which must be replayed to its own verdict.
enum ExampleCapsules {
    /// With the value `write`, the tests of ``CapsuleReplayTests`` write the examples anew.
    static let variable = "LATCHKEY_CAPSULE_EXAMPLES"
    static let folder = Repository.path("Tests/Capsules")

    static var areToBeWritten: Bool { ProcessInfo.processInfo.environment[variable] == "write" }

    /// The names of the files.
    static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasSuffix(".json") }.sorted()
    }()

    static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
    }

    /// That of `latchkey.yaml` in the folder.
    static func configuration(_ changes: [String] = []) throws -> Configuration {
        try ConfigurationLoader().load(
            file: folder + "/latchkey.yaml", environment: [:], arguments: SettingArguments(changes: changes, of: .core)
        ).configuration
    }

    static func replay(_ name: String, _ changes: [String] = []) throws -> ReplayReport {
        try ReplayReport(of: bytes(name), with: configuration(changes), usual: configuration())
    }
}

extension ReplayReport {
    init(
        of capsule: [UInt8], with configuration: Configuration, usual: Configuration? = nil,
        version: String = LatchkeyVersion.text
    ) throws(CapsuleReplay.ReplayError) {
        try self.init(
            of: try CapsuleReplay(parsing: capsule), with: configuration, usual: usual, version: version)
    }
}

@Suite("A replay of a capsule") struct CapsuleReplayTests {
    /// A fault of the carrier, and the name of the example that it makes.
    struct Row: Sendable, CustomTestStringConvertible {
        var fault: CarrierSimulator.Fault?
        let name: String
        /// Whether a check of a token fails.
        var isReplayed = true
        /// A change of the ID token.
        var edit: (@Sendable (inout TokenDraft) -> Void)?
        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(fault: .idTokenExpired, name: "expiry"), Row(fault: .idTokenWrongNonce, name: "nonce"),
        Row(fault: .idTokenOtherAudience, name: "audience"), Row(fault: .idTokenOtherIssuer, name: "issuer"),
        Row(fault: .idTokenStrangerKey, name: "signature"), Row(fault: .idTokenUnknownKeyID, name: "key"),
        Row(fault: .idTokenDuplicateClaim, name: "claims"), Row(fault: .idTokenTwoParts, name: "format"),
        Row(fault: .idTokenRS512, name: "algorithm"), Row(fault: .idTokenWrongAccessTokenHash, name: "at_hash"),
        Row(fault: .tokenInvalidGrant, name: "invalid_grant", isReplayed: false),
        // The clocks of the carrier and of this server differ by three minutes and a half.
        Row(name: "clock") { draft in
            draft.claims["iat"] = draft.time(plus: -400)
            draft.claims["exp"] = draft.time(plus: -200)
        },
    ]

    /// The capsule of a failed sign-in, and what the app sent.
    private func capsule(
        _ row: Row, _ harness: SignInHarness
    ) async throws -> (text: String, id: String, fields: [String: String]) {
        harness.simulator.update(SignInHarness.mccmnc) { carrier in
            carrier.faults = row.fault.map { [$0] } ?? []
            carrier.includesAccessTokenHash = true
            if let edit = row.edit { carrier.tampering.idTokens.append(edit) }
        }
        var fields = try harness.authorizedResponse(scope: "openid name email")
        fields["scope"] = "openid name email"
        let answer = try await harness.app.signIn(fields)
        let id = try #require(answer.json["correlation_id"]?.string)
        let admin = try AdminService(harness.configuration, features: .none)
        let text = try await admin.capsule(of: id).json[0]
        await admin.close()
        return (text, id, fields)
    }

    @Test("gives the verdict of the sign-in, if a check of the token decided it", arguments: rows)
    func sameVerdict(row: Row) async throws {
        try await SignInHarness.with { harness in
            let (capsule, id, fields) = try await capsule(row, harness)
            guard row.isReplayed else {
                let error = #expect(throws: CapsuleReplay.ReplayError.self) {
                    try ReplayReport(of: Array(capsule.utf8), with: harness.configuration)
                }
                #expect(error?.code == .notReplayable, "\(capsule)")
                return try write(capsule, id, row.name, harness)
            }
            let report = try ReplayReport(of: Array(capsule.utf8), with: harness.configuration)
            #expect(report.isSame && !report.passes, "\(report.text)\n\(capsule)")
            #expect(report.isTakenOver == Self.recorded.contains(report.failsNow ?? ""), "\(report.text)")
            for value in ["code", "code_verifier", "nonce"].compactMap({ fields[$0] }) {
                #expect(!report.text.contains(value) && !report.json.contains(value))
            }
            try write(capsule, id, row.name, harness)
        }
    }

    /// The checks whose result is that of the capsule.
    private static let recorded: Set = ["format", "key", "signature", "claims", "at_hash"]

    private func write(_ capsule: String, _ id: String, _ name: String, _ harness: SignInHarness) throws {
        guard ExampleCapsules.areToBeWritten else { return }
        let port = try #require(harness.running.addresses.first?.port)
        let text = capsule.replacing(":\(port)", with: ":8081").replacing(id, with: "example-\(name)")
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: ExampleCapsules.folder + "/\(name).json"))
    }

    @Test("takes the decryption of an ID token from the capsule")
    func encrypted() async throws {
        let pair = ResponseKeyPair.p256()
        let key = try pair.key("enc-1")
        try await SignInHarness.with(
            configure: {
                $0.zenkey.clients[0].idTokenDecryption = ResponseDecryption(key: key, encryption: .a256GCM)
            },
            register: {
                $0.idTokenEncryption = .init(.ecdhES, .a256GCM, publicKeyPEM: pair.publicPEM, keyID: "enc-1")
            }
        ) { harness in
            let (capsule, _, _) = try await capsule(Row(fault: .idTokenExpired, name: "encrypted"), harness)
            let report = try ReplayReport(of: Array(capsule.utf8), with: harness.configuration)
            #expect(report.isSame && report.failsNow == "expiry", "\(report.text)\n\(capsule)")
            #expect(report.text.contains("taken from the capsule: the decryption of the ID token\n"))
        }
    }

    /// A fault of a signed authorization response, and the check that fails.
    static let responseRows: [(CarrierSimulator.Fault, String)] = [
        (.jarmOtherIssuer, "issuer"), (.jarmOtherAudience, "audience"), (.jarmMissingExpiry, "expiry"),
        (.jarmBadSignature, "signature"), (.jarmAlgNone, "format"), (.authorizationMissingState, "state"),
        (.jarmExpired, "expiry"),
    ]

    @Test(
        "of a signed authorization response gives its verdict, and that with another setting", arguments: responseRows)
    func response(_ fault: CarrierSimulator.Fault, _ check: String) async throws {
        try await ProviderWalk.with(configure: { $0.providers[0].rules.responseMode = .jwt }) { walk in
            // The keys are cached by this, so that the capsule can say whether the signature was right.
            try await walk.signIn(Browser(), at: "acme")
            let browser = Browser()
            let asked = try await walk.start(browser, at: "acme")
            walk.harness.simulator.setFaults([fault], for: "acme")
            #expect(try await browser.get(try await walk.approved(browser, asked)).status == 400)
            let capsule = try #require(try await walk.harness.capsules().first)
            let bytes = Array(capsule.description.utf8)
            let configuration = walk.harness.configuration
            let report = try ReplayReport(of: bytes, with: configuration)
            #expect(report.isSame && report.failsNow == check, "\(report.text)\n\(capsule)")
            #expect(report.isTakenOver == Self.recorded.contains(check), "\(report.text)")
            guard fault == .jarmExpired else { return }
            var changed = configuration
            changed.idToken.clockSkewSeconds = 2 * 86_400
            let passed = try ReplayReport(of: bytes, with: changed, usual: configuration)
            #expect(passed.passes, "\(passed.text)")
            #expect(passed.text.contains("taken from the capsule: the check signature: passed\n"), "\(passed.text)")
            try write(capsule.description, capsule.correlationID ?? "", "response_expiry", walk.harness)
        }
    }

    @Test(
        "of a native token checks it against the audience that the sign-in found in it, and those that are trusted",
        arguments: [false, true])
    func nativeAudience(namesPartner: Bool) async throws {
        let (app, clip, partner) = ("com.example.app", "com.example.clip", "com.example.partner")
        let native = "native_audiences: [\(app), \(clip)], trusted_audiences: [\(partner)]"
        try await StandInWalk.with(
            try #require(CarrierSimulator.StandIn.named("apple")), otherClients: [app],
            clients: "[{id: latchkey}, {id: \(app), \(native)}]"
        ) { walk in
            // The capsule is stored when the other instance has ended.
            try await walk.alongside { other in
                let token = try await walk.simulator.issueNativeToken(
                    at: "apple", audience: clip, nonce: "another", user: "jane"
                ) { draft in
                    guard namesPartner else { return }
                    (draft.claims["aud"], draft.claims["azp"]) = (.texts([clip, partner]), .string(clip))
                }
                let fields = ["id_token": token.idToken, "nonce": try await walk.issuedNonce()]
                #expect(try await walk.signInNatively(fields, by: other).error == "invalid_id_token")
            }
            let kept = try await AdminService(walk.configuration, features: .none).perform {
                try await $0.capsules(limit: 10).json
            }
            let capsule = try #require(kept.first)
            #expect(kept.count == 1 && capsule.contains(#""verdict":"passed","expected":"\#(clip)""#), "\(kept)")
            let report = try ReplayReport(of: Array(capsule.utf8), with: walk.configuration)
            #expect(report.isSame && report.failsNow == "nonce", "\(report.text)\n\(capsule)")
        }
    }

    @Test("of each example gives the verdict of the example", arguments: ExampleCapsules.names)
    func examples(name: String) throws {
        guard name != "invalid_grant.json" else {
            #expect(throws: CapsuleReplay.ReplayError.self) { try ExampleCapsules.replay(name) }
            return
        }
        let report = try ExampleCapsules.replay(name)
        #expect(report.isSame, "\(report.text)")
    }

    /// The examples of other tokens than that of a sign-in with a code, and a line of the report of each.
    static let rowsWithoutCode: [(example: String, line: String)] = [
        ("logout_issuer.json", "  check issuer\n    expected: The logout token's iss must be this provider's"),
        ("notification_nonce.json", "result: the check nonce fails, as before"),
        ("response_expiry.json", "  check expiry\n    expected: The authorization response has expired"),
    ]

    @Test("of a failure without a code says what failed", arguments: rowsWithoutCode.map(\.example))
    func withoutCode(example: String) throws {
        let row = try #require(Self.rowsWithoutCode.first { $0.example == example })
        let report = try ExampleCapsules.replay(example)
        #expect(report.isSame && !report.isTakenOver && report.text.contains(row.line), "\(report.text)")
    }

    @Test("There is an example of each row")
    func allExamples() {
        #expect(Set(ExampleCapsules.names).isSuperset(of: Self.rows.map { $0.name + ".json" }))
    }

    @Test("says that a token would pass with another setting")
    func changed() throws {
        #expect(try ExampleCapsules.replay("clock.json").failsNow == "expiry")
        let report = try ExampleCapsules.replay("clock.json", ["id_token.clock_skew=300"])
        #expect(report.passes, "\(report.text)")
        #expect(report.text.contains("changed: clock_skew was 60 and is 300"))
        #expect(report.text.contains("taken from the capsule: the check at_hash: passed"))
        #expect(report.text.contains("result: the token passes every check now; what would follow is not replayed"))
    }

    @Test("takes from the capsule whether the token could lack the nonce", arguments: [true, false])
    func missingNonce(couldLack: Bool) throws {
        let bytes = try ExampleCapsules.bytes("at_hash.json")
        let token = try JSONValue(parsing: bytes).object?["id_token"]?.object
        let nonce = try #require(token?["claims"]?.object?["nonce"]?.string)
        var text = String(decoding: bytes, as: UTF8.self)
            .replacing(#","nonce":"\#(nonce)","at_hash":"#, with: #","at_hash":"#)
        if couldLack { text = text.replacing(#""settings":{"#, with: #""settings":{"nonce_may_be_missing":true,"#) }
        let configuration = try ExampleCapsules.configuration()
        do throws(CapsuleReplay.ReplayError) {
            let report = try ReplayReport(of: Array(text.utf8), with: configuration)
            // By the settings of now, it could not.
            #expect(couldLack && report.failsNow == "nonce", "\(report.text)")
        } catch {
            #expect(!couldLack && error.code == .notReplayable, "\(error.description)")
        }
    }

    @Test("of a failure that needs the token's text takes it over, whatever the settings are")
    func takenOver() throws {
        let report = try ExampleCapsules.replay("signature.json", ["id_token.clock_skew=300"])
        #expect(report.isSame && report.isTakenOver, "\(report.text)")
        #expect(report.text.contains("result: the check signature fails, as the capsule says; it cannot be made again"))
    }

    @Test("does not pass a check of a list that the capsule shows in part")
    func listInPart() throws {
        let text = String(decoding: try ExampleCapsules.bytes("clock.json"), as: UTF8.self)
            .replacing(#""aud":"ccid-1","#, with: #""aud":["ccid-1","…"],"#)
        let report = try ReplayReport(
            of: Array(text.utf8), with: ExampleCapsules.configuration(["id_token.clock_skew=300"]), version: "9.9.9")
        #expect(report.failsNow == "audience", "\(report.text)")
    }

    /// A change of an example, and why it is refused.
    struct Refused: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let edit: @Sendable (String) -> String
        let code: CapsuleReplay.ReplayError.Code
    }

    static let refused: [Refused] = [
        Refused(testDescription: "empty", edit: { _ in "" }, code: .unreadable),
        Refused(testDescription: "no JSON", edit: { $0 + "}" }, code: .unreadable),
        Refused(testDescription: "an array", edit: { "[\($0)]" }, code: .unreadable),
        Refused(
            testDescription: "too long", edit: { $0 + String(repeating: " ", count: 300_000) }, code: .unreadable),
        Refused(
            testDescription: "of format 1", edit: { $0.replacing(#"{"capsule":2"#, with: #"{"capsule":1"#) },
            code: .format),
        Refused(
            testDescription: "without a check",
            edit: { $0.replacing(#""check":"expiry","step":"validate""#, with: #""step":"store""#) },
            code: .notReplayable),
        Refused(
            testDescription: "of the userinfo",
            edit: { $0.replacing(#""check":"expiry","step""#, with: #""check":"userinfo_subject","step""#) },
            code: .notReplayable),
        Refused(
            testDescription: "of the decryption",
            edit: { $0.replacing(#""check":"expiry","step""#, with: #""check":"encryption","step""#) },
            code: .notReplayable),
        Refused(
            testDescription: "of a token that was too long",
            edit: { $0.replacing(#""id_token":{"#, with: #""id_token":{"omitted":"capsule_too_long","#) },
            code: .notReplayable),
        Refused(
            testDescription: "of a logout without the parts of its token",
            edit: {
                $0.replacing(#""flow":"code""#, with: #""flow":"backchannel_logout""#)
                    .replacing(#""id_token":{"#, with: #""former":{"#)
            },
            code: .notReplayable),
        Refused(
            testDescription: "of a response without the parts of its token",
            edit: {
                $0.replacing(#""flow":"code""#, with: #""flow":"redirect","authorization_response":{}"#)
                    .replacing(#""id_token":{"#, with: #""former":{"#)
            },
            code: .notReplayable),
        Refused(
            testDescription: "of another provider",
            edit: { $0.replacing(#""provider":"zenkey""#, with: #""provider":"another""#) }, code: .configuration),
        Refused(
            testDescription: "of another client",
            edit: { $0.replacing(#""client_id":"ccid-1""#, with: #""client_id":"another""#) }, code: .configuration),
        Refused(
            testDescription: "with values longer than any response",
            edit: { $0.replacing(#""sub":"‹word 29 "#, with: #""sub":"‹word 1000000 "#) }, code: .unreadable),
        Refused(
            testDescription: "with a clock skew of no configuration",
            edit: { $0.replacing(#""clock_skew":60"#, with: #""clock_skew":9223372036854775807"#) },
            code: .unreadable),
    ]

    @Test("is refused for a file that is no capsule, or one that does not decide the failure", arguments: refused)
    func refusals(row: Refused) throws {
        let text = row.edit(String(decoding: try ExampleCapsules.bytes("expiry.json"), as: UTF8.self))
        let configuration = try ExampleCapsules.configuration()
        let error = #expect(throws: CapsuleReplay.ReplayError.self) {
            try ReplayReport(of: Array(text.utf8), with: configuration)
        }
        #expect(error?.code == row.code, "\(error?.description ?? "")")
    }

    @Test(
        "is refused for a capsule without the parts of the token, also of another version",
        arguments: refused.filter { $0.testDescription.contains("without the parts") })
    func partsOfEarlierVersions(row: Refused) throws {
        let text = row.edit(String(decoding: try ExampleCapsules.bytes("expiry.json"), as: UTF8.self))
        let configuration = try ExampleCapsules.configuration()
        let error = #expect(throws: CapsuleReplay.ReplayError.self) {
            try ReplayReport(of: Array(text.utf8), with: configuration, version: "9.9.9")
        }
        #expect(
            error?.description.contains("as capsules of earlier versions do not") == true, "\(error?.description ?? "")"
        )
    }

    @Test("of a failure that is not replayed has what the capsule says was expected and found")
    func shown() throws {
        let replay = try CapsuleReplay(parsing: ExampleCapsules.bytes("invalid_grant.json"))
        let text = ReplayReport.capsule(of: replay, asJSON: false)
        #expect(text.hasPrefix("cause: ") && text.contains("failure.provider_code: invalid_grant"), "\(text)")
        let json = try JSONValue(parsing: Array(ReplayReport.capsule(of: replay, asJSON: true).utf8))
        #expect(json.object == replay.content)
    }

    @Test("of a damaged or hostile capsule ends with a verdict or a refusal", arguments: 0..<8)
    func hostile(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let configuration = try ExampleCapsules.configuration()
        let capsules = try ExampleCapsules.names.map { try ExampleCapsules.bytes($0) }
        var replayed = 0
        for _ in 0..<60 {
            guard let capsule = capsules.randomElement(using: &random) else { return }
            let isDamaged = Bool.random(using: &random)
            let bytes = isDamaged ? Self.damaged(capsule, &random) : try Self.altered(capsule, &random)
            do throws(CapsuleReplay.ReplayError) {
                let report = try ReplayReport(of: bytes, with: configuration)
                #expect(!report.text.isEmpty && !report.json.isEmpty)
                replayed += 1
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
        #expect(replayed > 0)
    }

    @Test("of a capsule with numbers at the ends of their range ends with a verdict", arguments: [Int64.min, -1, .max])
    func numbers(number: Int64) throws {
        let configuration = try ExampleCapsules.configuration()
        for name in ExampleCapsules.names {
            let capsule = String(decoding: try ExampleCapsules.bytes(name), as: UTF8.self)
            let names = /"(at|exp|iat|since|max_age|parts|bytes|token_parts|token_bytes|signature_bytes)":\d+/
            let text = capsule.replacing(names) { "\"\($0.output.1)\":\(number)" }
            do throws(CapsuleReplay.ReplayError) {
                let report = try ReplayReport(of: Array(text.utf8), with: configuration)
                #expect(!report.passes && !report.text.isEmpty)
            } catch {
                #expect(error.code == .notReplayable, "\(name): \(error)")
            }
        }
    }

    /// Tokens that the server refuses for what a capsule does not show as it is, and the check that fails.
    static let refusedTokens: [(row: Row, check: String)] = [
        (Row(fault: .idTokenNoSignature, name: "an empty signature"), "format"),
        (Row(name: "nbf in the year 2286") { $0.claims["nbf"] = 9_999_999_999 }, "not_before"),
        (Row(name: "nbf with a fraction") { $0.claims["nbf"] = .number(9_999_999_999.5) }, "not_before"),
        (Row(name: "nbf that is no time") { $0.claims["nbf"] = .number(1e300) }, "not_before"),
        (
            Row(name: "exp in the year 2286") { draft in
                draft.claims["exp"] = 9_999_999_999
                draft.claims["nonce"] = "another"
            }, "nonce"
        ),
        (Row(name: "exp long ago") { $0.claims["exp"] = 1 }, "expiry"),
        (
            Row(name: "typ that differs by case") { draft in
                draft.header["typ"] = "jWt"
                draft.claims["nonce"] = "another"
            }, "nonce"
        ),
        (
            Row(name: "azp after 70 others") { draft in
                draft.claims.members.insert(contentsOf: Self.others("claim"), at: 0)
                draft.claims["azp"] = "another"
            }, "authorized_party"
        ),
        (
            Row(name: "azp after 300 elements") { draft in
                let elements = [JSONValue](repeating: .array([1, 2, 3, 4]), count: 60)
                draft.claims.members.insert(("amr", .array(elements)), at: 0)
                draft.claims["azp"] = "another"
            }, "authorized_party"
        ),
        (
            Row(name: "crit after 70 others") { draft in
                draft.header.members += Self.others("parameter")
                draft.header["crit"] = ["exp"]
            }, "critical_header"
        ),
    ]

    private static func others(_ name: String) -> [(name: String, value: JSONValue)] {
        (0..<70).map { ("\(name)-\($0)", .integer(Int64($0))) }
    }

    @Test("refuses a token that the server refused", arguments: refusedTokens.map(\.row.name))
    func refusedToken(name: String) async throws {
        let (row, check) = try #require(Self.refusedTokens.first { $0.row.name == name })
        try await SignInHarness.with { harness in
            let (capsule, _, _) = try await capsule(row, harness)
            let report = try ReplayReport(of: Array(capsule.utf8), with: harness.configuration)
            #expect(report.isSame && report.failsNow == check, "\(report.text)\n\(capsule)")
            // Of another version nothing is known, so that the verdict is that of the token alone.
            let other = try ReplayReport(of: Array(capsule.utf8), with: harness.configuration, version: "0.0.0")
            #expect(other.isSame && other.failsNow == check, "\(other.text)\n\(capsule)")
        }
    }

    /// The example `expiry` with an ID token that has not expired: its capsule lacks what decided.
    private static func contradiction() throws -> [UInt8] {
        let text = String(decoding: try ExampleCapsules.bytes("expiry.json"), as: UTF8.self)
        return Array(text.replacing(/"exp":(\d{10})/) { "\"exp\":\((Int64($0.output.1) ?? 0) + 7200)" }.utf8)
    }

    @Test(
        "does not say that a token would pass if nothing has changed",
        arguments: [[], ["id_token.clock_skew=300"]] as [[String]])
    func contradicts(changes: [String]) throws {
        let usual = try ExampleCapsules.configuration()
        let configuration = try ExampleCapsules.configuration(changes)
        let capsule = try Self.contradiction()
        let error = #expect(throws: CapsuleReplay.ReplayError.self) {
            try ReplayReport(of: capsule, with: configuration, usual: usual)
        }
        #expect(error?.code == .notReplayable)
    }

    @Test("says that a token would pass with another version, and that the version differs")
    func otherVersion() throws {
        let report = try ReplayReport(
            of: Self.contradiction(), with: ExampleCapsules.configuration(), version: "9.9.9")
        #expect(report.passes, "\(report.text)")
        #expect(report.text.contains("changed: the version of Latchkey was 0.1.0 and is 9.9.9\n"))
        #expect(report.json.contains(#""version":{"then":"0.1.0","now":"9.9.9"}"#))
    }

    /// Changes of the example `clock` that a setting does not mend.
    static let undecidedRows: [(name: String, edit: @Sendable (String) -> String)] = [
        (
            "a signature that was not checked",
            { $0.replacing(#""check":"signature","verdict":"passed""#, with: #""check":"signature","verdict":"odd""#) }
        ),
        ("a header without room for a parameter", { $0.replacing(#""header":{"#, with: #""header":{"crit":"…","#) }),
        ("claims without room for one", { $0.replacing(#""claims":{"#, with: #""claims":{"nbf":"…","#) }),
    ]

    @Test("is refused for a capsule that lacks what decides", arguments: undecidedRows.map(\.name))
    func undecided(name: String) throws {
        let edit = try #require(Self.undecidedRows.first { $0.name == name }).edit
        let capsule = String(decoding: try ExampleCapsules.bytes("clock.json"), as: UTF8.self)
        let text = edit(capsule)
        #expect(text != capsule)
        let configuration = try ExampleCapsules.configuration(["id_token.clock_skew=300"])
        let usual = try ExampleCapsules.configuration()
        let error = #expect(throws: CapsuleReplay.ReplayError.self) {
            try ReplayReport(of: Array(text.utf8), with: configuration, usual: usual)
        }
        #expect(error?.code == .notReplayable, "\(error?.description ?? "")")
    }

    /// Some bytes changed, removed or added.
    private static func damaged(_ capsule: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = capsule
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[place] = Array("0123456789".utf8).randomElement(using: &random) ?? 0
            case 2: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...40, using: &random)))
            default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 30)], at: place)
            }
            if bytes.isEmpty { return [0x7B] }
        }
        return bytes
    }

    /// Some values replaced by others.
    private static func altered(_ capsule: [UInt8], _ random: inout SeededGenerator) throws -> [UInt8] {
        var value = try JSONValue(parsing: capsule)
        for _ in 0..<Int.random(in: 1...4, using: &random) { value = altered(value, &random) }
        return Array(value.text.utf8)
    }

    private static let others: [JSONValue] = [
        .null, true, -1, 0, .integer(.max), .integer(.min), .number(1e300), "", "‹word 1048576 00›", "‹word -1 a›",
        "‹integer 900 a›", "‹›", "‹word 9 ›", "…", [], .object(of: []), "RS256", "none", "../x", "http://[", [[[[]]]],
    ]

    private static func altered(_ value: JSONValue, _ random: inout SeededGenerator) -> JSONValue {
        switch value {
        case .object(let object) where !object.members.isEmpty && Int.random(in: 0..<12, using: &random) > 0:
            let place = Int.random(in: 0..<object.members.count, using: &random)
            return .object(
                of: object.members.enumerated().map { index, member in
                    (member.name, index == place ? altered(member.value, &random) : member.value)
                })
        case .array(let elements) where !elements.isEmpty && Int.random(in: 0..<12, using: &random) > 0:
            let place = Int.random(in: 0..<elements.count, using: &random)
            return .array(elements.enumerated().map { $0 == place ? altered($1, &random) : $1 })
        default: return others.randomElement(using: &random) ?? .null
        }
    }
}
