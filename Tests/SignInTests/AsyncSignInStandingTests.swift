import Primitives
import SignIn
import Storage
import Testing

/// The state machine of server-initiated sign-ins: every standing with every event.
@Suite("A server-initiated sign-in")
struct AsyncSignInStandingTests {
    typealias Standing = AsyncSignInStanding

    struct Row: Sendable, CustomTestStringConvertible {
        let standing: Standing
        let event: Standing.Event
        let step: Standing.Step
        var testDescription: String { "\(standing.rawValue), \(event.rawValue)" }
    }

    private static func row(_ standing: Standing, _ event: Standing.Event, _ step: Standing.Step) -> Row {
        Row(standing: standing, event: event, step: step)
    }

    static let rows: [Row] = [
        row(.waiting, .approval, .becomes(.approved)), row(.waiting, .refusal, .becomes(.failed)),
        row(.waiting, .poll, .stays), row(.waiting, .retry, .becomes(.waiting)),
        row(.waiting, .cancellation, .becomes(.cancelled)),

        row(.approved, .approval, .stays), row(.approved, .refusal, .stays), row(.approved, .poll, .becomes(.done)),
        row(.approved, .retry, .refused(.approved)), row(.approved, .cancellation, .becomes(.cancelled)),

        row(.done, .approval, .stays), row(.done, .refusal, .stays), row(.done, .poll, .stays),
        row(.done, .retry, .refused(.done)), row(.done, .cancellation, .refused(.done)),

        row(.failed, .approval, .stays), row(.failed, .refusal, .stays), row(.failed, .poll, .refused(.failed)),
        row(.failed, .retry, .becomes(.waiting)), row(.failed, .cancellation, .becomes(.cancelled)),

        row(.cancelled, .approval, .stays), row(.cancelled, .refusal, .stays),
        row(.cancelled, .poll, .refused(.cancelled)), row(.cancelled, .retry, .refused(.cancelled)),
        row(.cancelled, .cancellation, .stays),

        row(.expired, .approval, .stays), row(.expired, .refusal, .stays), row(.expired, .poll, .refused(.expired)),
        row(.expired, .retry, .becomes(.waiting)), row(.expired, .cancellation, .becomes(.cancelled)),
    ]

    @Test("goes on from each standing by each event as the table says", arguments: rows)
    func step(row: Row) { #expect(row.standing.after(row.event) == row.step) }

    @Test("has a row for every standing and event")
    func complete() {
        let pairs = Set(Self.rows.map { "\($0.standing) \($0.event)" })
        #expect(pairs.count == Standing.allCases.count * Standing.Event.allCases.count)
    }

    @Test(
        "expires while it waits or is not collected, and not once it is over",
        arguments: [
            (AsyncSignInRecord.Phase.waiting, Standing.waiting, Standing.expired), (.approved, .approved, .expired),
            (.done, .done, .done), (.failed, .failed, .failed), (.cancelled, .cancelled, .cancelled),
        ])
    func expiry(phase: AsyncSignInRecord.Phase, before: Standing, after: Standing) throws {
        let end = Timestamp(secondsSinceEpoch: 100)
        let hash = try #require(TokenHash([UInt8](repeating: 1, count: 32)))
        let terms = AsyncSignInRecord.Terms(
            provider: "zenkey", clientID: "c", network: "310410", redirectURI: "a:/", scope: "openid",
            loginHint: Secret("+1"), correlationID: "x")
        var record = AsyncSignInRecord(
            handle: hash, caller: hash, terms: terms, notification: hash, expiresAt: end, removedAt: end)
        record.phase = phase
        #expect(Standing(record, at: Timestamp(secondsSinceEpoch: 99)) == before)
        #expect(Standing(record, at: end) == after)
    }
}
