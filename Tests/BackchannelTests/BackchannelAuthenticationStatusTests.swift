import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import Testing

@testable import Backchannel

/// The state machine of backchannel authentication: every status with every event.
@Suite("The record of a backchannel authentication")
struct BackchannelAuthenticationStatusTests {
    typealias Status = BackchannelAuthenticationRecord.Phase

    struct Row: Sendable, CustomTestStringConvertible {
        let status: Status
        let event: Status.Event
        let step: Status.Step
        var testDescription: String { "\(status.rawValue), \(event.rawValue)" }
    }

    private static func row(_ status: Status, _ event: Status.Event, _ step: Status.Step) -> Row {
        Row(status: status, event: event, step: step)
    }

    static let rows: [Row] = [
        row(.pending, .approval, .becomes(.approved)), row(.pending, .refusal, .becomes(.failed)),
        row(.pending, .poll, .stays), row(.pending, .retry, .becomes(.pending)),
        row(.pending, .cancellation, .becomes(.cancelled)),

        row(.approved, .approval, .stays), row(.approved, .refusal, .stays), row(.approved, .poll, .becomes(.done)),
        row(.approved, .retry, .refused(.approved)), row(.approved, .cancellation, .becomes(.cancelled)),

        row(.done, .approval, .stays), row(.done, .refusal, .stays), row(.done, .poll, .stays),
        row(.done, .retry, .refused(.done)), row(.done, .cancellation, .refused(.done)),

        row(.failed, .approval, .stays), row(.failed, .refusal, .stays), row(.failed, .poll, .refused(.failed)),
        row(.failed, .retry, .becomes(.pending)), row(.failed, .cancellation, .becomes(.cancelled)),

        row(.cancelled, .approval, .stays), row(.cancelled, .refusal, .stays),
        row(.cancelled, .poll, .refused(.cancelled)), row(.cancelled, .retry, .refused(.cancelled)),
        row(.cancelled, .cancellation, .stays),

        row(.expired, .approval, .stays), row(.expired, .refusal, .stays), row(.expired, .poll, .refused(.expired)),
        row(.expired, .retry, .becomes(.pending)), row(.expired, .cancellation, .becomes(.cancelled)),
    ]

    @Test("changes its status with each event as the table says", arguments: rows)
    func step(row: Row) { #expect(row.status.after(row.event) == row.step) }

    @Test("has a row for every status and event")
    func complete() {
        let pairs = Set(Self.rows.map { "\($0.status) \($0.event)" })
        #expect(pairs.count == Status.allCases.count * Status.Event.allCases.count)
    }

    @Test(
        "expires while it waits or is approved, and not after it has ended",
        arguments: [
            (Status.pending, Status.pending, Status.expired),
            (.approved, .approved, .expired),
            (.done, .done, .done), (.failed, .failed, .failed), (.cancelled, .cancelled, .cancelled),
        ])
    func expiry(phase: Status, before: Status, after: Status) throws {
        let end = Timestamp(secondsSinceEpoch: 100)
        let hash = try #require(TokenHash([UInt8](repeating: 1, count: 32)))
        let terms = BackchannelAuthenticationRecord.Terms(
            provider: "acme", clientID: try #require(ClientID("c")), demand: AuthenticationDemand(),
            correlationID: try #require(CorrelationID("x")))
        var record = BackchannelAuthenticationRecord(
            handle: hash, caller: hash, terms: terms, notification: hash, expiresAt: end, removedAt: end)
        record.phase = phase
        #expect(record.phase(at: Timestamp(secondsSinceEpoch: 99)) == before)
        #expect(record.phase(at: end) == after)
    }
}
