import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// Verifications of a signed-in user's phone number (docs/verified-numbers.md).
extension LatchkeyAPI {
    func verifyPhoneNumber(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let question = try VerifyPhoneNumber.Question(BodyFields(request))
        return try await useCases.verifyPhoneNumber(question, for: caller.holder).response
    }

    func showPhoneVerification(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        try await useCases.verifyPhoneNumber.outcome(request.parameters["id"] ?? "", for: caller.holder).response
    }
}

extension VerifyPhoneNumber.Outcome {
    fileprivate var response: Response {
        .json(.ok, capacity: 256) { json in
            json.add("verification_id", id)
            json.add("status", verification.status.rawValue)
            json.add("phone_number", verification.phoneNumber)
            json.add("operator", verification.operatorName)
            json.add("checked_at", verification.checkedAt.secondsSinceEpoch)
            json.add("sim_swapped", json: verification.simSwapped.map { $0 ? "true" : "false" } ?? "null")
            json.add("error", ifPresent: verification.error)
            json.add("correlation_id", ifPresent: correlationID?.text)
        }
    }
}
