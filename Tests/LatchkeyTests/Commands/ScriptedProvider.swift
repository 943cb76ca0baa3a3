import OpenIDConnect
import TestSupport

extension ScriptedHTTPClient {
    /// A provider with metadata and one signing key, at `https://op.example`.
    /// - Parameter metadata: More members of the metadata, in JSON.
    static func provider(_ metadata: String) -> ScriptedHTTPClient {
        let issuer = "https://op.example"
        let key = TestSigningKey(keyID: "k1")
        return ScriptedHTTPClient { request throws(OutboundError) in
            request.url.text == issuer + "/jwks"
                ? .json("{\"keys\":[\(key.jwk)]}")
                : .json(
                    """
                    {"issuer":"\(issuer)","authorization_endpoint":"\(issuer)/a","token_endpoint":"\(issuer)/t",\
                    "jwks_uri":"\(issuer)/jwks",\(metadata)}
                    """)
        }
    }
}
