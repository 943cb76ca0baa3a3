import OpenIDConnect
import Primitives

/// What the flows of a replay need of a capsule, beside what every flow needs.
extension RebuiltSignIn {
    /// The members of an object of the capsule, with made-up values.
    mutating func made(_ shown: JSONObject?) throws(CapsuleReplay.Refusal) -> JSONObject? {
        guard let shown else { return nil }
        return JSONValue.object(of: try values.members(shown)).object
    }

    /// What the nonce of the ID token was compared with; nil if there was nothing.
    mutating func expectedNonce() throws(CapsuleReplay.Refusal) -> Secret? {
        guard let shown = results["nonce"]?["expected"]?.string else { return nil }
        return Secret(try values.text(shown))
    }

    /// The id of a backchannel authentication: that of the ID token, if it was the right one.
    mutating func backchannelRequestID(_ idToken: JSONObject?) throws(CapsuleReplay.Refusal) -> Secret {
        let claims = idToken?["claims"]?.object
        guard results["auth_req_id"]?["verdict"]?.string == TokenVerdict.passed.rawValue,
            let shown = claims?["auth_req_id"]?.string ?? claims?["urn:openid:params:jwt:claim:auth_req_id"]?.string
        else { return Secret("made-up-request-id") }
        carriedOver.append("that auth_req_id of the ID token is right")
        return Secret(try values.text(shown))
    }

    /// A token that is no ID token.
    /// - Parameters:
    ///   - shown: Its parts in the capsule.
    ///   - name: For the verdict.
    ///   - isVerified: Whether its signature was right; nil if that was not checked.
    mutating func token(
        _ shown: JSONObject?, named name: String, isVerified: Bool?
    ) throws(CapsuleReplay.Refusal) -> Secret {
        guard let shown, let bytes = shown["token_bytes"]?.integer else {
            throw CapsuleReplay.Refusal(
                .notReplayable, "it does not have the parts of \(name), as capsules of earlier versions do not")
        }
        if let parts = shown["token_parts"]?.integer {
            return Secret(RebuiltToken.malformed(bytes: bytes, parts: parts))
        }
        isSignatureKnown = isVerified != nil
        if let isVerified { carriedOver.append("the signature of \(name): \(isVerified ? "passed" : "failed")") }
        return Secret(
            try RebuiltToken.text(shown, &values, signedWith: isVerified == true ? keys?.signer : nil))
    }
}
