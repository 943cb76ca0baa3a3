import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// The routes for verifications of a signed-in user's phone number (docs/verified-numbers.md).
extension VerifyPhoneNumber {
    func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        router.post("/users/me/phone/verifications", api.changing { try await verify($0, $1, $2) })
        router.get(
            "/users/me/phone/verifications/{id}",
            api.signedIn { _, request, caller in
                try await outcome(request.parameters["id"] ?? "", for: caller.holder).response
            })
        router.post(
            "/users/me/phone/verifications/{id}/confirmation", api.changing { try await confirm($1, $2) })
    }

    private func verify(_ api: LatchkeyAPI, _ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let asked = try PhoneVerificationRequest(
            BodyFields(request, from: caller.admission), caller: api.terms(of: request, caller.admission))
        switch asked.means {
        case .operatorToken(let token):
            return try await self(asked.question, with: token, for: caller.holder).response
        case .redirect(let redirectURI):
            return try await startVerification(
                asked.question, redirectURI: redirectURI, publicURL: try api.publicURL(), for: caller.holder
            ).response
        }
    }

    private func confirm(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        var reader = FieldReader(try BodyFields(request, from: caller.admission))
        let correlationID = reader.correlationID()
        let confirmation = reader.visibleText("confirmation", limit: 64, required: true)
        guard reader.problems.isEmpty, let confirmation else { throw reader.refusal(correlationID) }
        return try await confirm(
            request.parameters["id"] ?? "", with: Secret(confirmation), correlationID: correlationID,
            for: caller.holder
        ).response
    }
}

extension VerifyPhoneNumber.StartedVerification {
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
