import Examination

@testable import OpenIDConnect

/// The bytes as a key set, as in sign-ins and in reports to operators.
enum JWKSTarget {
    static func read(_ bytes: [UInt8]) {
        JSONPromise.value(bytes)
        let keys = JSONWebKeySet(parsing: bytes)
        let survey = KeySetEntry.all(in: bytes)
        demand((keys == nil) == (survey == nil), "what is a key set for one is one for the other")
        guard let keys, let survey else { return }
        demand(keys.count <= JSONWebKeySet.maximumKeys, "keys are few")
        demand(keys.count == survey.count { !$0.algorithms.isEmpty }, "the same keys are used and shown as used")
        demand(
            keys.keys.allSatisfy { [256, 384, 521].contains($0.bits) || (2048...8192).contains($0.bits) },
            "keys are of proper sizes")
        demand(
            survey.allSatisfy { $0.algorithms.isEmpty == ($0.refusal != nil) }, "a key is used, or it is said why not")
    }
}
