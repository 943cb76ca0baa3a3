import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import PhoneVerification

/// Operators that Telco Finder chooses for the verifications of signed-in users' numbers, and numbers that it confirms.
@Suite("Telco Finder, for verifications")
struct TelcoFinderVerificationTests {
    private static let number = #""phone_number":"+14155550101""#

    private static let refuse: SIMSwapPolicy = {
        var policy = SIMSwapPolicy()
        policy.ifSwapped = .refuse
        return policy
    }()

    /// A session of a user of southwind whose number is not the one to verify, and what it verifies with.
    private func walk(
        _ row: TelcoFinderTests.Check = TelcoFinderTests.Check(what: "its own number")
    ) async throws -> PhoneVerificationWalk {
        let app = try NumberApp(
            simSwap: Self.refuse,
            telcoFinder: { ($0.ifOtherOperator, $0.ifUnknown) = (row.ifOther, row.ifUnknown) })
        app.finder.script { $0.owner = "southwind" }
        let walk = try await PhoneVerificationWalk(app)
        app.finder.script { ($0.owner, $0.search) = (row.owner, row.answer) }
        return walk
    }

    /// The last line of a verification in the log.
    private func line(_ walk: PhoneVerificationWalk) -> CapturedLog.Line? {
        walk.app.log.lines.last { $0.message == "phone verification" }
    }

    // MARK: Whether a number is the operator's

    @Test(
        "The number that an operator confirms by an operator token must be this operator's",
        arguments: TelcoFinderTests.checks)
    func token(_ row: TelcoFinderTests.Check) async throws {
        let walk = try await walk(row)
        let searches = walk.app.count(walk.app.finder.searchURL)
        let simChecks = walk.app.count(walk.app.northwind.swapURL)
        let answer = try await walk.post(#""operator_token":"TS43","operator":"northwind","# + Self.number)
        #expect(walk.app.count(walk.app.finder.searchURL) == searches + row.searches)
        #expect(walk.app.count(walk.app.northwind.verifyURL) == 1)
        #expect(line(walk)?.metadata["telco_finder"] == row.logged)
        #expect(!walk.app.log.text.contains("4155550101"))
        guard let error = row.error else {
            #expect(answer.text("status") == "verified", "\(answer.body)")
            #expect(walk.app.count(walk.app.northwind.swapURL) == simChecks + 1)
            #expect(try await walk.app.me(walk.token)["phone_number"]?.string == "+14155550101")
            return
        }
        #expect(answer.status == (error == "carrier_timeout" ? 504 : 502) && answer.error == error, "\(answer.body)")
        #expect(walk.app.count(walk.app.northwind.swapURL) == simChecks, "a refused number's SIM is not asked about")
        try await walk.expectUnchanged()
        #expect(try await walk.app.testStore.store.auditEvents(AuditQuery(kind: .phoneNumberVerified)).isEmpty)
    }

    @Test(
        "The number that an operator confirms to a browser must be this operator's", arguments: TelcoFinderTests.checks)
    func redirect(_ row: TelcoFinderTests.Check) async throws {
        let walk = try await walk(row)
        let searches = walk.app.count(walk.app.finder.searchURL)
        let (id, confirmation) = try await walk.open()
        #expect(walk.app.count(walk.app.finder.searchURL) == searches + row.searches)
        let answer = try await walk.confirm(id, confirmation)
        #expect(walk.app.count(walk.app.finder.searchURL) == searches + row.searches, "the confirmation asks nobody")
        #expect(answer.text("status") == (row.error == nil ? "verified" : "failed"), "\(answer.body)")
        #expect(answer.text("error") == row.error)
        guard row.error != nil else {
            #expect(try await walk.app.me(walk.token)["phone_number"]?.string == "+14155550101")
            return
        }
        try await walk.expectUnchanged()
        #expect(try await walk.app.testStore.store.auditEvents(AuditQuery(kind: .phoneNumberVerified)).isEmpty)
    }

    @Test("The number that an operator tells, because nobody has named one, must be this operator's, too")
    func told() async throws {
        let walk = try await walk()
        _ = try await walk.app.send(
            .patch, "/users/me", [.authorization: "Bearer \(walk.token)", .contentType: "application/json"],
            body: #"{"phone_number":null}"#)
        walk.app.finder.script { $0.owner = "southwind" }
        let refused = try await walk.post(#""operator_token":"T1","operator":"northwind""#)
        #expect(refused.error == "carrier_error", "\(refused.body)")
        #expect(try await walk.app.me(walk.token)["phone_number"]?.isNull == true)
        walk.app.finder.script { $0.owner = "northwind" }
        let told = try await walk.post(#""operator_token":"T2","operator":"northwind""#)
        #expect(told.text("status") == "verified" && told.text("phone_number") == "+14155550101", "\(told.body)")
        #expect(walk.app.count(walk.app.northwind.shareURL) == 2)
    }

    @Test("A mismatch is no number that Telco Finder has to confirm")
    func mismatch() async throws {
        let walk = try await walk()
        walk.app.northwind.script {
            $0.verify = { _ throws(OutboundError) in .json(#"{"devicePhoneNumberVerified":false}"#) }
        }
        let searches = walk.app.count(walk.app.finder.searchURL)
        let answer = try await walk.post(#""operator_token":"TS43","operator":"northwind","# + Self.number)
        #expect(answer.text("status") == "mismatch", "\(answer.body)")
        #expect(walk.app.count(walk.app.finder.searchURL) == searches)
    }

    // MARK: Which operator

    @Test(
        "A number leads to its operator, by an operator token and by redirects", arguments: ["northwind", "southwind"])
    func choice(_ owner: String) async throws {
        let walk = try await walk()
        walk.app.finder.script { $0.owner = owner }
        let fake = owner == "northwind" ? walk.app.northwind : walk.app.southwind
        let tokens = walk.app.count(fake.tokenURL)
        let answer = try await walk.post(#""operator_token":"TS43","# + Self.number)
        #expect(answer.text("status") == "verified" && answer.text("operator") == owner, "\(answer.body)")
        #expect(walk.app.count(fake.tokenURL) > tokens)
        let started = try await walk.start(Self.number)
        #expect(started.authorization.location.hasPrefix(fake.issuer + "/authorize?"))
        #expect(!started.authorization.location.contains("4155550101"))
    }

    @Test("The number of the profile leads to its operator; an operator or a network that is named is not looked up")
    func ofProfile() async throws {
        let walk = try await walk()
        walk.app.finder.script { $0.owner = "southwind" }
        #expect(
            try await walk.start(#""provider":"number""#).authorization.location.hasPrefix(walk.app.southwind.issuer))
        let body = try #require(walk.app.http.requests(to: walk.app.finder.searchURL).last?.body)
        #expect(String(decoding: body, as: UTF8.self).contains("+14155550177"))
        let searches = walk.app.count(walk.app.finder.searchURL)
        for choice in [#""operator":"northwind""#, #""mccmnc":"310010""#] {
            let started = try await walk.start(choice + "," + Self.number)
            #expect(started.authorization.location.hasPrefix(walk.app.northwind.issuer))
        }
        #expect(walk.app.count(walk.app.finder.searchURL) == searches)
    }

    @Test("A number of no operator, and of one that is not configured, is refused", arguments: [nil, "eastwind"])
    func unknown(_ owner: String?) async throws {
        let walk = try await walk()
        walk.app.finder.script { $0.owner = owner }
        for means in [#""operator_token":"TS43","#, #""redirect_uri":"com.example.app://cb","#] {
            let answer = try await walk.post(means + Self.number)
            #expect(answer.status == 400 && answer.error == "operator_unknown", "\(answer.body)")
        }
        #expect(walk.app.http.requests(to: walk.app.northwind.tokenURL).isEmpty)
    }

    @Test("A session looks up no more numbers than it may verify, and they count for its network")
    func limits() async throws {
        let walk = try await walk()
        let searches = walk.app.count(walk.app.finder.searchURL)
        func verify(_ walk: PhoneVerificationWalk, _ index: Int) async throws -> Answer {
            try await walk.post(#""operator_token":"TS43-\#(index)","phone_number":"+1415555\#(2000 + index)""#)
        }
        walk.app.finder.script { $0.owner = nil }
        for index in 0..<10 { #expect(try await verify(walk, index).error == "operator_unknown") }
        #expect(try await verify(walk, 10).status == 429)
        #expect(walk.app.count(walk.app.finder.searchURL) == searches + 10, "the eleventh is not looked up")
        var count = 10
        for user in 0..<6 {
            walk.app.finder.script { $0.owner = "southwind" }
            let other = try await PhoneVerificationWalk(walk.app, subject: "SUBJECT-\(user)")
            walk.app.finder.script { $0.owner = nil }
            for _ in 0..<9 {
                let answer = try await verify(other, 100 + count)
                #expect(answer.status == (count < 60 ? 400 : 429), "\(count): \(answer.body)")
                count += 1
            }
        }
    }
}
