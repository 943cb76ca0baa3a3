import CarrierSimulator

/// Cases of carriers that bind access tokens to a key (DPoP, RFC 9449). Metadata that demands it stays cached, so the
/// next sign-in is at another carrier.
extension ConformanceCases {
    static let dpop: [ConformanceCase] = [
        .ok("dpop-supported", .fault(.dpopSupported)), .ok("dpop-required", .fault(.dpopRequired), .elsewhere),
        .ok("dpop-required:redirect", .redirect, .fault(.dpopRequired), .elsewhere),
        .ok("dpop-required:par", .redirect, .fault(.dpopRequired), .fault(.parRequired), .elsewhere),
        .ok("dpop-required:private-key-jwt", .client(ConformanceHarness.keyClient), .fault(.dpopRequired), .elsewhere),
        // The first request at each endpoint is asked for a nonce.
        .ok("dpop-nonce", .fault(.dpopRequired), .fault(.dpopNonce), .elsewhere, .posts(2)),
        .upstream("dpop-bearer", .fault(.dpopRequired), .fault(.dpopBearer), .elsewhere),
        .upstream("dpop-endless-nonces", .fault(.dpopRequired), .fault(.dpopEndlessNonces), .elsewhere, .posts(2)),
        .upstream("dpop-long-nonce", .fault(.dpopRequired), .fault(.dpopLongNonce), .elsewhere),
        .upstream("dpop-invalid-nonce", .fault(.dpopRequired), .fault(.dpopInvalidNonce), .elsewhere),
    ]
}
