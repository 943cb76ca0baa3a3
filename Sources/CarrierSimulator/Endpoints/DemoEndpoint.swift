import HTTPServer
import HTTPTypes
import Primitives

/// Codes for a shell: `POST /demo/codes` with any of `mccmnc`, `client_id`, `redirect_uri`, `nonce`, `scope`,
/// `acr_values`, `context`, `code_challenge`, `user`.
///
/// The answer is what a mobile client sends to its backend, so that one command's output is the next one's input.
/// What is left out is chosen: the first carrier, a client and its first redirect URI, a fresh verifier and nonce.
struct DemoEndpoint: Sendable {
    let simulator: CarrierSimulator

    func issueCode(_ request: Request) -> Response {
        do throws(CarrierSimulator.Refusal) {
            return .json(try answer(to: try Parameters(contentOf: request)))
        } catch {
            return error.response()
        }
    }

    private func answer(to parameters: Parameters) throws(CarrierSimulator.Refusal) -> JSONMembers {
        let clientID = parameters["client_id"] ?? simulator.clients.keys.min() ?? ""
        let redirectURI = parameters["redirect_uri"] ?? simulator.clients[clientID]?.redirectURIs.first ?? ""
        let mccmnc = parameters["mccmnc"] ?? simulator.carriers.first?.mccmnc ?? ""
        let nonce = parameters["nonce"] ?? simulator.random.token(bytes: 16)
        // Whoever sends a challenge has the verifier; whoever does not is given one.
        let verifier = parameters["code_challenge"] == nil ? simulator.random.token() : nil
        let challenge = verifier.map(Digest.codeChallenge)
        let code = try simulator.issueCode(
            mccmnc: mccmnc, clientID: clientID, redirectURI: redirectURI,
            codeChallenge: challenge ?? parameters["code_challenge"] ?? "", nonce: nonce,
            scope: parameters["scope"] ?? "openid name email phone postal_code", acr: parameters["acr_values"],
            context: parameters["context"], user: parameters["user"])
        var answer: JSONMembers = [
            "code": .text(code), "mccmnc": .text(mccmnc), "client_id": .text(clientID),
            "redirect_uri": .text(redirectURI), "nonce": .text(nonce),
        ]
        answer["code_verifier"] = verifier.map(JSON.text)
        answer["acr_values"] = parameters["acr_values"].map(JSON.text)
        answer["context"] = parameters["context"].map(JSON.text)
        return answer
    }
}
