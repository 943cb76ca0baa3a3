import Primitives
import Storage
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

/// An instance that ends at any point, as by a kill, loses no event.
@Suite struct WebhookCutTests {
    private struct Cut: Error {}

    /// Ends a worker at the `number`th passage of a step.
    private final class Scissors: Sendable {
        private let step: WebhookWorker.Step
        private let rest: Mutex<Int>
        let isCut = SharedFlag()

        init(_ step: WebhookWorker.Step, _ number: Int) {
            self.step = step
            rest = Mutex(number)
        }

        func pass(_ step: WebhookWorker.Step) throws {
            let isLast = rest.withLock { rest in
                if step == self.step { rest -= 1 }
                return rest <= 0
            }
            guard isLast || isCut.isSet else { return }
            isCut.set()
            throw Cut()
        }
    }

    /// Cuts at 100 points on each engine of a delivery to a receiver that fails at times.
    @Test(
        "An instance that is cut off at any step loses no event, and repeats it with its id",
        arguments: Engine.allCases)
    func cuts(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(6)
        try await bench.begin()
        var cuts = 0
        var kept: [String: String] = [:]
        for number in 1...100 {
            let first = try await bench.store.auditHorizon().serial
            for round in 0..<20 { try await bench.record(of: users[(round * 5 + number) % 6]) }
            let receiver = Receiver { _, _, count in
                // Some fail, each of them only at first.
                OutboundResponse(status: count % 9 == 4 ? 500 : 200)
            }
            // Each event is sent, and the log is read and the result stored at least once.
            let step = WebhookWorker.Step.allCases[number % WebhookWorker.Step.allCases.count]
            let scissors = Scissors(step, [.sending, .sent].contains(step) ? 1 + number / 5 : 1)
            let worker = try bench.worker(receiver) { $0.cut = { step throws in try scissors.pass(step) } }
            let running = Task { await worker.run() }
            // It ends by the cut, or has done all before.
            while !scissors.isCut.isSet, try await !bench.isDone() {
                bench.clock.advance(bySeconds: 10)
                try await Task.sleep(for: .milliseconds(1))
            }
            running.cancel()
            await running.value
            cuts += scissors.isCut.isSet ? 1 : 0
            // The next instance waits for the lease.
            bench.clock.advance(bySeconds: 31)
            let next = try bench.worker(receiver)
            try await bench.delivering(next) {
                try await until {
                    bench.clock.advance(bySeconds: 5)
                    return try await bench.isDone()
                }
            }
            let last = try await bench.store.auditHorizon().serial
            let recorded = Set((first + 1)...last)
            #expect(Set(receiver.taken) == recorded, "cut \(number) lost \(recorded.subtracting(receiver.taken))")
            for user in 1...6 {
                let serials = receiver.taken(of: "user-\(user)")
                #expect(serials == serials.sorted(), "cut \(number), user \(user)")
            }
            for sent in receiver.sent {
                let key = "\(sent.serial)"
                #expect(kept[key] ?? sent.id == sent.id, "an event has one id")
                kept[key] = sent.id
            }
        }
        #expect(cuts == 100)
    }
}
