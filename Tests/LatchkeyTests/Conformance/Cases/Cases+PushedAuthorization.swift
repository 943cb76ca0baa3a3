import CarrierSimulator
import Primitives

/// Cases of carriers that require pushed authorization requests (RFC 9126).
extension ConformanceCases {
    static let pushedAuthorization: [ConformanceCase] =
        [
            .ok("par-required", .redirect, .fault(.parRequired)),
            .ok(
                "par-required:client-secret-post", .redirect, .client(ConformanceHarness.postClient),
                .fault(.parRequired)),
            .ok("par-required:private-key-jwt", .redirect, .client(ConformanceHarness.keyClient), .fault(.parRequired)),
            .ok("par-required:code", .fault(.parRequired)),
            .ok("par-required:expires-in-text", .redirect, .fault(.parRequired), .pushed("expires_in", "60")),
            inVain("no-endpoint", .fault(.discoveryNoPAR), .elsewhere),
            inVain(
                "endpoint-elsewhere", .metadata("pushed_authorization_request_endpoint", "https://evil.example/par"),
                .elsewhere),
            inVain("error-not-found", .answer(.pushedAuthorization, 404, "text/html", "<p>what?</p>")),
            inVain("error-server", .answer(.pushedAuthorization, 503, #"{"error":"temporarily_unavailable"}"#)),
            inVain("error-without-code", .answer(.pushedAuthorization, 400, "{}")),
            inVain("not-an-object", .answer(.pushedAuthorization, 201, "[]")),
            inVain("page-of-json", .label(.pushedAuthorization, "text/html")),
            inVain("request-uri-relative", .pushed("request_uri", "/r/1")),
            inVain("request-uri-number", .pushed("request_uri", 7)),
            inVain("request-uri-twice", .object(.pushedAuthorization) { $0.append("request_uri", "urn:x") }),
            inVain("expires-in-negative", .pushed("expires_in", -1)),
            inVain("closed", .raw(.pushedAuthorization, Scripts.closeAtOnce)),
            inVain("silence", .raw(.pushedAuthorization, Scripts.silence)),
            inVain("no-http", .raw(.pushedAuthorization, Scripts.noHTTP)),
        ]
        + [
            .par500, .parSlow, .parNotJSON, .parRedirect, .parInvalidClient, .parInvalidRequest, .parStatus200,
            .parMissingRequestURI, .parControlCharacter, .parLongRequestURI, .parMissingExpiresIn, .parExpired,
            .parHuge,
        ].map { fault in inVain(String(fault.name.dropFirst("par-".count)), .fault(fault)) }

    /// The browser is never sent to the carrier with the request in its URL.
    private static func inVain(_ name: String, _ changes: ConformanceCase.Change...) -> ConformanceCase {
        ConformanceCase(
            "par-" + name, .callback,
            [.redirect, .fault(.parRequired), .steps { [try await $0.startInVain()] }] + changes)
    }
}

extension ConformanceCase.Change {
    fileprivate static func pushed(_ name: String, _ value: JSONValue) -> Self {
        object(.pushedAuthorization) { $0[name] = value }
    }
}
