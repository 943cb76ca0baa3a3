import OpenIDConnect
import Primitives
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import Capsules
@testable import Redirects
@testable import SignIn

/// Which failures leave capsules, and how long their responses wait for them.
@Suite struct CapsuleRecorderTests {
    /// Adds capsules once its gate is open.
    private final class GatedStore: Sendable {
        let gate = Gate()
        private let added = Mutex<[CapsuleRecord]>([])

        var causes: [String] { added.withLock { $0.map(\.cause) } }

        func add(_ capsule: CapsuleRecord) async {
            await gate.pass()
            added.withLock { $0.append(capsule) }
        }
    }

    private let store = GatedStore()

    private func recorder(perMinute limit: Int = 30) -> CapsuleRecorder {
        CapsuleRecorder(version: "1", maximumPerMinute: limit, clock: ManualClock().wallClock) { [store] in
            await store.add($0)
        }
    }

    private func subject(
        at provider: String = "acme", _ flow: FailedOperation.Flow = .redirect,
        _ origin: FailedOperation.Origin = .known,
        costly: @escaping () -> [FailedOperation.Member] = { [] }
    ) -> FailedOperation {
        FailedOperation(
            flow: flow, correlationID: "id", provider: provider, client: nil, relyingParty: nil, network: nil,
            times: StepTimes(), requested: [], origin: origin, costly: costly)
    }

    private func fail(
        _ recorder: CapsuleRecorder, _ subject: FailedOperation, _ error: SignInError = .redirectUnknown
    ) async {
        let observers: [FailureObserver] = [{ await recorder.keep($0, $1, $2) }]
        await #expect(throws: SignInError.self) {
            try await observers.recording { () async throws(SignInError) -> Void in
                throw error
            } failed: { _ in
                subject
            }
        }
    }

    @Test("A response does not wait for a store that hangs, and the capsule is stored all the same")
    func hanging() async {
        let recorder = recorder()
        await fail(recorder, subject())
        #expect(store.causes.isEmpty)
        store.gate.open()
        await recorder.settle()
        #expect(store.causes.count == 1)
    }

    @Test(
        "Of four capsules at once, one may be of an unauthenticated caller, and two of sign-ins without an API key",
        arguments: [(FailedOperation.Origin.unauthenticated, 1), (.keyless, 2), (.known, 4)])
    func atOnce(origin: FailedOperation.Origin, share: Int) async {
        let recorder = recorder()
        let subjects = ["acme", "globex", "initech", "hooli", "umbrella"].map { subject(at: $0, .redirect, origin) }
        for subject in subjects { await fail(recorder, subject) }
        for provider in ["a", "b", "c", "d"] { await fail(recorder, subject(at: provider)) }
        store.gate.open()
        await recorder.settle()
        let causes = Set(subjects.map { $0.cause(of: .redirectUnknown) })
        #expect(store.causes.filter(causes.contains).count == share)
        #expect(store.causes.count == 4)
    }

    @Test("Whatever unauthenticated callers send has a third of a minute's capsules and one cause", arguments: [2, 9])
    func unauthenticated(limit: Int) async {
        store.gate.open()
        let recorder = recorder(perMinute: limit)
        for provider in ["acme", "globex"] {
            for flow in [FailedOperation.Flow.redirect, .backchannelLogout, .backchannelAuthentication] {
                for error in [SignInError.redirectUnknown, .otherBrowser, .responseOfOtherClient] {
                    await fail(recorder, subject(at: provider, flow, .unauthenticated), error)
                }
            }
        }
        let all = Array(repeating: FailedOperation.unauthenticatedCause, count: limit / 3)
        #expect(store.causes == all)
        for provider in ["a", "b", "c", "d", "e", "f", "g"] { await fail(recorder, subject(at: provider)) }
        #expect(store.causes.count == limit)
    }

    @Test("Sign-ins without an API key have a third of a minute's capsules, whatever causes they are given")
    func keyless() async {
        store.gate.open()
        let recorder = recorder(perMinute: 9)
        let errors: [SignInError] = [.redirectUnknown, .otherBrowser, .responseOfOtherClient, .codeMissing]
        for provider in ["acme", "globex"] {
            for error in errors + errors { await fail(recorder, subject(at: provider, .redirect, .keyless), error) }
        }
        // One of each cause: one cause has a third of the third.
        let invented = errors.prefix(3).map { subject(.redirect, .keyless).cause(of: $0) }
        #expect(store.causes == invented)
        // Those of callers with an API key have the rest, and of one cause a third.
        for _ in 0..<4 { await fail(recorder, subject(), errors[0]) }
        for provider in ["a", "b", "c", "d"] { await fail(recorder, subject(at: provider)) }
        #expect(store.causes.dropFirst(3).filter { $0 == subject().cause(of: errors[0]) }.count == 3)
        #expect(store.causes.count == 9)
    }

    @Test("A limit of one or two a minute leaves a capsule for a sign-in without an API key", arguments: [1, 2])
    func few(limit: Int) async {
        store.gate.open()
        let recorder = recorder(perMinute: limit)
        for provider in ["acme", "globex"] { await fail(recorder, subject(at: provider, .redirect, .keyless)) }
        #expect(store.causes.count == 1)
    }

    @Test("Who waits while no capsule is made goes on at once, and only once")
    func idle() async {
        store.gate.open()
        let recorder = recorder(perMinute: 3)
        for provider in ["acme", "globex"] {
            await recorder.settle()
            await fail(recorder, subject(at: provider))
        }
        await recorder.settle()
        #expect(store.causes.count == 2)
    }

    @Test("A sign-in in another browser has another cause than other failures of redirects")
    func kinds() {
        let errors: [SignInError] = [.otherBrowser, .redirectUnknown, .responseOfOtherClient]
        #expect(Set(errors.map { subject().cause(of: $0) }).count == errors.count)
    }

    @Test("What costs much is made for admitted capsules only")
    func costly() async {
        store.gate.open()
        let recorder = recorder(perMinute: 3)
        let made = Mutex(0)
        for _ in 0..<4 {
            await fail(
                recorder,
                subject(costly: {
                    made.withLock { $0 += 1 }
                    return [("claims", .flag(true))]
                }))
        }
        #expect(store.causes.count == 1)
        #expect(made.withLock { $0 } == 1)
    }
}

@Suite("A sentence of a capsule") struct CapsuleSentenceTests {
    private static let sentence = "The endpoint's response for 15551234567890123 has no id_token."

    @Test(
        "is hidden by a replaced value or a long name in it, and not by the name of a member that is a word of it",
        arguments: [
            ("endpoint's", Pseudonyms.Kind.name, true), ("response", .name, true),
            ("15551234567890123", .name, false), ("15551234567890123", .word, false), ("response", .word, false),
        ])
    func names(replaced: String, kind: Pseudonyms.Kind, isShown: Bool) {
        var pseudonyms = Pseudonyms(.system)
        _ = pseudonyms.pseudonym(of: replaced, kind: kind)
        #expect((pseudonyms.sentence(Self.sentence) != nil) == isShown)
    }
}
