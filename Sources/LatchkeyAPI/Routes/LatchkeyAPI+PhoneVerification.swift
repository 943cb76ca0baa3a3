import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// Verifications of a signed-in user's phone number (docs/verified-numbers.md).
extension LatchkeyAPI {
    func verifyPhoneNumber(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let asked = try PhoneVerificationRequest(
            BodyFields(request, from: caller.admission), caller: terms(of: request, caller.admission))
        switch asked.means {
        case .operatorToken(let token):
            return try await useCases.verifyPhoneNumber(asked.question, with: token, for: caller.holder).response
        case .redirect(let redirectURI):
            return try await useCases.redirectSignIn.startVerification(
                asked.question, redirectURI: redirectURI, publicURL: try publicURL(),
                subnet: rates.subnet(of: request), for: caller.holder
            ).response
        }
    }

    func confirmPhoneVerification(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        var reader = FieldReader(try BodyFields(request, from: caller.admission))
        let correlationID = reader.correlationID()
        let confirmation = reader.visibleText("confirmation", limit: 64, required: true)
        guard reader.problems.isEmpty, let confirmation else { throw reader.refusal(correlationID) }
        return try await useCases.verifyPhoneNumber.confirm(
            request.parameters["id"] ?? "", with: Secret(confirmation), correlationID: correlationID,
            for: caller.holder
        ).response
    }

    func showPhoneVerification(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        try await useCases.verifyPhoneNumber.outcome(request.parameters["id"] ?? "", for: caller.holder).response
    }
}

extension RedirectSignIn.StartedVerification {
    fileprivate var response: Response {
        .json(.created, capacity: 1024) { json in
            json.add("verification_id", id)
            json.add("status", "pending")
            json.add("authorization_url", authorizationURL)
            json.add("expires_in", expiresIn)
            json.add("correlation_id", correlationID.text)
        }
    }
}

extension VerifyPhoneNumber.Outcome {
    fileprivate var response: Response {
        .json(.ok, capacity: 256) { json in
            json.add("verification_id", id)
            switch state {
            case .pending(let pending):
                json.add("status", "pending")
                json.add("phone_number", orNull: pending.phoneNumber)
                json.add("operator", pending.operatorName)
                json.add("checked_at", json: "null")
                json.add("sim_swapped", json: "null")
            case .ended(let verification):
                json.add("status", verification.status.rawValue)
                json.add("phone_number", orNull: verification.phoneNumber)
                json.add("operator", verification.operatorName)
                json.add("checked_at", verification.checkedAt.secondsSinceEpoch)
                json.add("sim_swapped", json: verification.simSwapped.map { $0 ? "true" : "false" } ?? "null")
                json.add("error", ifPresent: verification.error)
            }
            json.add("correlation_id", ifPresent: correlationID?.text)
        }
    }
}
