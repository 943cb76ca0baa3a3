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

    typealias Event = BackchannelAuthenticationRecord.Event

    /// The effect of an event.
    enum Step: Sendable {
        case becomes(Status)
        case stays
        case refused(SignInError)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let status: Status
        let event: Event
        let step: Step
        var testDescription: String { "\(status.rawValue), \(event.rawValue)" }
    }

    private static func row(_ status: Status, _ event: Event, _ step: Step) -> Row {
        Row(status: status, event: event, step: step)
    }

    static let rows: [Row] = [
        row(.pending, .approval, .becomes(.approved)), row(.pending, .refusal, .becomes(.failed)),
        row(.pending, .poll, .stays), row(.pending, .retry, .becomes(.pending)),
        row(.pending, .cancellation, .becomes(.cancelled)),

        row(.approved, .approval, .stays), row(.approved, .refusal, .stays), row(.approved, .poll, .becomes(.done)),
        row(.approved, .retry, .refused(.backchannelCompleted)), row(.approved, .cancellation, .becomes(.cancelled)),

        row(.done, .approval, .stays), row(.done, .refusal, .stays), row(.done, .poll, .stays),
        row(.done, .retry, .refused(.backchannelCompleted)),
        row(.done, .cancellation, .refused(.backchannelCompleted)),

        row(.failed, .approval, .stays), row(.failed, .refusal, .stays),
        row(.failed, .poll, .refused(BackchannelAuthenticationFailure.contradiction.error)),
        row(.failed, .retry, .becomes(.pending)), row(.failed, .cancellation, .becomes(.cancelled)),

        row(.cancelled, .approval, .stays), row(.cancelled, .refusal, .stays),
        row(.cancelled, .poll, .refused(.backchannelCancelled)),
        row(.cancelled, .retry, .refused(.backchannelCancelled)), row(.cancelled, .cancellation, .stays),

        row(.expired, .approval, .stays), row(.expired, .refusal, .stays),
        row(.expired, .poll, .refused(.backchannelExpired)), row(.expired, .retry, .becomes(.pending)),
        row(.expired, .cancellation, .becomes(.cancelled)),
    ]

    private static let end = Timestamp(secondsSinceEpoch: 100)
    private static let before = Timestamp(secondsSinceEpoch: 99)

    /// One that expires at ``end``.
    private func record(_ phase: Status) throws -> BackchannelAuthenticationRecord {
        let hash = try #require(TokenHash([UInt8](repeating: 1, count: 32)))
        let terms = BackchannelAuthenticationRecord.Terms(
            provider: "acme", clientID: try #require(ClientID("c")), demand: AuthenticationDemand(),
            correlationID: try #require(CorrelationID("x")))
        var record = BackchannelAuthenticationRecord(
            handle: hash, caller: hash, terms: terms, notification: hash, expiresAt: Self.end, removedAt: Self.end)
        record.phase = phase
        record.failure = phase == .failed ? .contradiction : nil
        return record
    }

    @Test("changes its status with each event as the table says", arguments: rows)
    func step(row: Row) throws {
        // It is not stored that one has expired.
        let record = try record(row.status == .expired ? .pending : row.status)
        let now = row.status == .expired ? Self.end : Self.before
        switch row.step {
        case .becomes(let status): #expect(try record.phase(after: row.event, at: now) == status)
        case .stays: #expect(try record.phase(after: row.event, at: now) == nil)
        case .refused(let error): #expect(throws: error) { try record.phase(after: row.event, at: now) }
        }
    }

    @Test("has a row for every status and event")
    func complete() {
        let pairs = Set(Self.rows.map { "\($0.status) \($0.event)" })
        #expect(pairs.count == Status.allCases.count * Event.allCases.count)
    }

    @Test(
        "expires while it waits or is approved, and not after it has ended",
        arguments: [
            (Status.pending, Status.pending, Status.expired),
            (.approved, .approved, .expired),
            (.done, .done, .done), (.failed, .failed, .failed), (.cancelled, .cancelled, .cancelled),
        ])
    func expiry(phase: Status, before: Status, after: Status) throws {
        let record = try record(phase)
        #expect(record.phase(at: Self.before) == before)
        #expect(record.phase(at: Self.end) == after)
    }
}
