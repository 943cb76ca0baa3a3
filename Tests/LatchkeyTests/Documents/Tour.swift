import Synchronization
import TestSupport

/// The responses of operations that have occurred in a test.
final class Tour: Sendable {
    @TaskLocal static var current: Tour?

    private let answers = Mutex<[String: Set<Int>]>([:])
    private let contract: APIContract

    init(_ contract: APIContract) {
        self.contract = contract
    }

    func saw(_ operation: String, _ statuses: [Int]) {
        answers.withLock { $0[operation, default: []].formUnion(statuses) }
    }

    func note(_ exchange: APIContract.Exchange) {
        guard let operation = contract.operation(exchange.method, exchange.path) else { return }
        saw(operation, [exchange.status])
    }

    /// The documented success responses that have not occurred, as `METHOD /template 200`.
    var unseen: [String] {
        let seen = answers.withLock { $0 }
        return contract.operations.flatMap { operation in
            contract.statuses(of: operation).filter { $0 < 400 && seen[operation]?.contains($0) != true }
                .map { "\(operation) \($0)" }
        }
    }
}
