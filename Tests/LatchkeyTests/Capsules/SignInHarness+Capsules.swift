import Capsules
import LatchkeyFeatures
import LatchkeyService
import Primitives
import TestSupport
import Testing

extension LatchkeyService {
    /// Waits until the capsules of all failures so far are stored, or could not be.
    func settleCapsules() async { await feature(CapsulesFeature.self)?.shutdown() }
}

extension SignInHarness {
    /// What an operator does with the commands, on the harness's database.
    func asOperator<Value>(_ body: (AdminService) async throws -> Value) async throws -> Value {
        await service.settleCapsules()
        return try await AdminService(configuration, features: .none).perform(body)
    }

    /// The kept capsules, oldest first.
    func capsules() async throws -> [KeptCapsule] {
        try await asOperator { try await $0.capsules(limit: 1000).json }.map(KeptCapsule.init)
    }
}

/// A capsule as an operator exports it.
struct KeptCapsule: Sendable, CustomStringConvertible {
    let description: String
    private let json: JSONObject

    init(_ text: String) throws {
        description = text
        json = try #require(try JSONValue(parsing: Array(text.utf8)).object)
    }

    var correlationID: String? { json["correlation_id"]?.string }
    /// The text without its id, which is random and may contain a name.
    var withoutID: String { description.replacing(correlationID ?? "-", with: "") }
    var flow: String? { request?["flow"]?.string }
    var request: JSONObject? { json["request"]?.object }
    var code: String? { failure["code"] }
    var check: String? { failure["check"] }
    var step: String? { failure["step"] }
    var cause: String? { failure["cause"] }
    var providerCode: String? { failure["provider_code"] }

    private var failure: [String: String] {
        var texts: [String: String] = [:]
        for member in json["failure"]?.object?.members ?? [] { texts[member.name] = member.value.string }
        return texts
    }
}
