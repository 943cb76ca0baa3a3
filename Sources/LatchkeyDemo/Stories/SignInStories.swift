import OpenIDConnect
import Primitives
import SignIn
import Synchronization

/// The latest sign-ins of a demonstration: the calls between this server and the providers, each check of the ID token
/// with its verdict, and the times. It keeps no token, no code and no attribute of a user.
final class SignInStories: Sendable {
    /// The most sign-ins that are kept: the latest ones.
    static let capacity = 32

    private struct State {
        var revision: UInt64 = 0
        /// In the order in which they began.
        var stories: [SignInStory] = []
    }

    private let state = Mutex(State())
    private let clock: WallClock

    init(clock: WallClock) { self.clock = clock }

    func note(_ request: OutboundRequest, _ result: Result<OutboundResponse, OutboundError>, took nanoseconds: UInt64) {
        change(request.correlationID) { $0.add(SignInStory.call(request, result, took: nanoseconds)) }
    }

    func note(_ explanation: IDTokenExplanation, of correlationID: CorrelationID?) {
        change(correlationID) { $0.idToken = explanation }
    }

    func note(_ report: SignInReport) { change(report.correlationID) { $0.report = report } }

    /// What other requests cause, such as a fetch of keys in the background, belongs to no sign-in.
    private func change(_ correlationID: CorrelationID?, _ change: (inout SignInStory) -> Void) {
        guard let correlationID else { return }
        state.withLock { state in
            state.revision += 1
            let place = state.stories.lastIndex { $0.correlationID == correlationID } ?? state.stories.endIndex
            if place == state.stories.endIndex { state.stories.append(SignInStory(correlationID, at: clock.now())) }
            change(&state.stories[place])
            state.stories[place].revision = state.revision
            if state.stories.count > Self.capacity { state.stories.removeFirst() }
        }
    }

    /// The revision, and the stories that changed after another one, in the order in which they began.
    func json(after revision: UInt64) -> JSONValue {
        let (latest, stories) = state.withLock { state in
            (state.revision, state.stories.filter { $0.revision > revision })
        }
        return .object(of: [
            ("revision", .integer(Int64(clamping: latest))), ("sign_ins", .array(stories.map(\.json))),
        ])
    }
}
