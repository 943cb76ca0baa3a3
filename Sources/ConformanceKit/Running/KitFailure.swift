/// Why a configuration cannot be examined. One line for the operator.
package struct KitFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Reason: Sendable, Hashable {
        /// The command line names something that does not exist or cannot be examined.
        case usage
        /// The machine has no port, folder or memory for the run, or a correct sign-in fails.
        case failed
    }

    package let reason: Reason
    package let description: String

    init(_ reason: Reason, _ description: String) {
        self.reason = reason
        self.description = description
    }
}
