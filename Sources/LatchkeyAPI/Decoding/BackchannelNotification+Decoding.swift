import Primitives
import SignIn

extension BackchannelNotification {
    /// Reads the notification that a request's tokens are ready. Nothing but the id counts (CIBA Core section 10.2).
    /// - Throws: 400 without an id.
    init(ping fields: BodyFields) throws(APIError) {
        var reader = FieldReader(fields)
        let requestID = reader.visibleText("auth_req_id", limit: 512, required: true)
        guard reader.problems.isEmpty, let requestID else { throw reader.refusal() }
        self.init(requestID: Secret(requestID), state: nil, outcome: .ready)
    }

    /// Reads a carrier's notification from a body's fields.
    /// - Throws: 400 that names every missing or malformed field.
    init(_ fields: BodyFields) throws(APIError) {
        var reader = FieldReader(fields)
        let requestID = reader.visibleText("auth_req_id", limit: 512, required: true)
        let state = reader.text("state", limit: 1024)
        let code = reader.text("error", limit: 255)
        let idToken = reader.visibleText("id_token", limit: 32_768)
        let accessToken = reader.visibleText("access_token", limit: 8192)
        if code == nil, idToken == nil { reader.refuse("id_token", "is missing, and so is error") }
        guard reader.problems.isEmpty, let requestID else { throw reader.refusal() }
        let outcome: Outcome
        if let code {
            outcome = .refused(code)
        } else if let idToken {
            outcome = .approved(idToken: Secret(idToken), accessToken: accessToken.map(Secret.init))
        } else {
            throw .malformed("id_token is missing.")
        }
        self.init(requestID: Secret(requestID), state: state.map(Secret.init), outcome: outcome)
    }
}
