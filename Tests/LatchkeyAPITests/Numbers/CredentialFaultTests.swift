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

/// Servers, disks and networks that fail while a digital credential is taken: a credential is presented to the other
/// server once at most, and a verification whose session is gone does not stay pending.
@Suite("Faults while a digital credential is taken")
struct CredentialFaultTests {
    /// Who redeems the credential.
    enum Redeemer: String, Sendable, CaseIterable {
        case aggregator, mobileOperator

        var members: String {
            self == .aggregator ? #","provider":"carriers""# : #","provider":"number","operator":"northwind""#
        }

        /// How often it was presented with a credential.
        func count(in app: NumberApp) -> Int {
            self == .aggregator ? app.aggregator.processed.count : app.count(app.northwind.tokenURL)
        }

        func fail(in app: NumberApp, with failure: OutboundError?) {
            app.aggregator.script { $0.failure = failure }
            var answer: FakeOperator.Answer?
            if let failure { answer = { _ throws(OutboundError) in throw failure } }
            app.northwind.script { [answer] in $0.token = answer }
        }
    }

    /// A verification that waits for the wallet, of a user of southwind.
    private struct Waiting {
        let app: NumberApp
        let redeemer: Redeemer
        let session: String
        let id: String
        let text: String
        /// How often the redeemer was asked before there was a credential.
        let before: Int

        init(_ redeemer: Redeemer) async throws {
            var rules = NumberSignInRules()
            rules.registersUnknown = true
            app = try NumberApp(credentialRules: rules, aggregator: { _ in }, credentialsOfNorthwind: true)
            self.redeemer = redeemer
            session = try await PhoneVerificationWalk.session(app)
            let started = try await app.startVerification(
                session, #","phone_number":"\#(FakeAggregator.number)"\#(redeemer.members)"#)
            (id, text) = (started.id, try app.aggregator.presentation(nonce: started.nonce))
            app.aggregator.script { $0.finding = #""verified":true"# }
            before = redeemer.count(in: app)
        }

        func confirm() async throws -> Answer { try await app.confirm(id, of: session, presenting: text) }
        func show() async throws -> Answer { try await PhoneVerificationWalk(app, token: session).show(id) }
        var presented: Int { redeemer.count(in: app) - before }
    }

    @Test("A full disk at the spend leaves the session as it was, and nobody is asked", arguments: Redeemer.allCases)
    func fullDisk(_ redeemer: Redeemer) async throws {
        let waiting = try await Waiting(redeemer)
        let script = waiting.app.testStore.script
        script.fail(.takeOneTimeRecord, with: StorageError(.full, reason: "the disk is full"))
        let refused = try await waiting.confirm()
        #expect(refused.status == 503 && refused.error == "temporarily_unavailable", "\(refused.body)")
        #expect(waiting.presented == 0)
        #expect(try await waiting.show().text("status") == "pending")
        script.fail(.takeOneTimeRecord, with: nil)
        let answer = try await waiting.confirm()
        #expect(answer.status == 200 && answer.text("status") == "verified", "\(answer.body)")
        #expect(waiting.presented == 1)
    }

    @Test(
        "After a crash between the spend and the question, nobody is asked again, and the verification fails in time",
        arguments: Redeemer.allCases)
    func crash(_ redeemer: Redeemer) async throws {
        let waiting = try await Waiting(redeemer)
        let script = waiting.app.testStore.script
        // What a killed server leaves in the store: the session is spent, and nothing follows.
        script.lose(.takeOneTimeRecord, with: StorageError(.closed, reason: "killed"))
        #expect(try await waiting.confirm().status == 503)
        script.lose(.takeOneTimeRecord, with: nil)
        let again = try await waiting.confirm()
        #expect(again.status == 401 && again.error == "invalid_grant", "\(again.body)")
        #expect(waiting.presented == 0)
        try await PhoneVerificationWalk(waiting.app, token: waiting.session).expectUnchanged()
        waiting.app.clock.advance(bySeconds: 301)
        let ended = try await waiting.show()
        #expect(ended.text("status") == "failed" && ended.error == "expired_token", "\(ended.body)")
    }

    @Test(
        "A network that is lost ends the session, because nobody knows what came to the other side",
        arguments: [
            OutboundError(.timedOut, mayHaveBeenSent: true, reason: "no response"),
            OutboundError(.unreachable, mayHaveBeenSent: false, reason: "no route"),
        ])
    func lostNetwork(_ failure: OutboundError) async throws {
        for redeemer in Redeemer.allCases {
            let waiting = try await Waiting(redeemer)
            redeemer.fail(in: waiting.app, with: failure)
            let refused = try await waiting.confirm()
            #expect([502, 504].contains(refused.status), "\(redeemer): \(refused.body)")
            redeemer.fail(in: waiting.app, with: nil)
            let ended = try await waiting.show()
            #expect(ended.text("status") == "failed" && ended.error == refused.error, "\(redeemer): \(ended.body)")
            #expect(try await waiting.confirm().error == "invalid_grant", "\(redeemer)")
            #expect(waiting.presented == 1, "\(redeemer)")
        }
    }

    @Test("A sign-in whose aggregator cannot be reached is over, and the same request says so again")
    func signIn() async throws {
        var rules = NumberSignInRules()
        rules.registersUnknown = true
        let app = try NumberApp(credentialRules: rules, aggregator: { _ in })
        let started = try await app.startCredential()
        app.aggregator.script { $0.failure = OutboundError(.timedOut, mayHaveBeenSent: true, reason: "no response") }
        let text = try app.aggregator.presentation(nonce: started.nonce)
        let refused = try await app.confirm(started.id, presenting: text)
        #expect(refused.status == 504 && refused.error == "carrier_timeout", "\(refused.body)")
        app.aggregator.script { $0.failure = nil }
        #expect(try await app.confirm(started.id, presenting: text).status != 200)
        #expect(app.aggregator.processed.count == 1)
    }

    @Test("A poll that is lost does not end a QR code")
    func poll() async throws {
        let app = try NumberApp(aggregator: { $0.verifiesDesktops = true })
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await app.startVerification(
            session, #","strategy":"desktop","phone_number":"\#(FakeAggregator.number)""#)
        app.aggregator.script { $0.failure = OutboundError(.timedOut, mayHaveBeenSent: true, reason: "no response") }
        #expect(try await app.confirm(started.id, of: session, #"{"poll":true}"#).status == 504)
        app.aggregator.script { script in
            script.failure = nil
            script.finding = #""verified":true"#
        }
        let answer = try await app.confirm(started.id, of: session, #"{"poll":true}"#)
        #expect(answer.text("status") == "verified", "\(answer.body)")
    }

    @Test(
        "An answer that verifies nothing, and one beyond the number's allowance, end a verification",
        arguments: ["ts43", "desktop"], [false, true])
    func uselessAnswer(_ strategy: String, isUsedUp: Bool) async throws {
        let app = try NumberApp(aggregator: { $0.verifiesDesktops = true })
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await app.startVerification(
            session, #","strategy":"\#(strategy)","phone_number":"\#(FakeAggregator.number)""#)
        if isUsedUp {
            app.aggregator.script { $0.finding = #""verified":true"# }
            let number = try #require(MSISDN(FakeAggregator.number))
            for user in [UserID(7001), UserID(7002)] {
                let uses = AllowanceUse.ofVerification(of: number, by: user)
                for _ in 0..<5 { #expect(try await app.testStore.store.count(uses, at: app.clock.now) == nil) }
            }
        }
        // Otherwise the number is only repeated.
        let expected = isUsedUp ? "rate_limited" : "aggregator_error"
        let proof =
            strategy == "desktop"
            ? #"{"poll":true}"# : #"{"vp_token":"\#(try app.aggregator.presentation(nonce: started.nonce))"}"#
        #expect(try await app.confirm(started.id, of: session, proof).error == expected)
        let ended = try await PhoneVerificationWalk(app, token: session).show(started.id)
        #expect(ended.text("status") == "failed" && ended.error == expected, "\(ended.body)")
    }
}
