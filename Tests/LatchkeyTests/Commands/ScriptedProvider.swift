import OpenIDConnect
import Primitives
import TestSupport

extension ScriptedHTTPClient {
    /// A provider with metadata and one signing key, at `https://op.example`.
    /// - Parameters:
    ///   - metadata: More members of the metadata, in JSON.
    ///   - hasBrowsers: Whether the provider has an authorization endpoint.
    static func provider(_ metadata: String, hasBrowsers: Bool = true) -> ScriptedHTTPClient {
        let issuer = "https://op.example"
        let authorization = hasBrowsers ? #""authorization_endpoint":"\#(issuer)/a","# : ""
        let key = TestSigningKey(keyID: "k1")
        return ScriptedHTTPClient { request throws(OutboundError) in
            request.url.text == issuer + "/jwks"
                ? .json("{\"keys\":[\(key.jwk)]}")
                : .json(
                    """
                    {"issuer":"\(issuer)",\(authorization)"token_endpoint":"\(issuer)/t",\
                    "jwks_uri":"\(issuer)/jwks",\(metadata)}
                    """)
        }
    }
}
