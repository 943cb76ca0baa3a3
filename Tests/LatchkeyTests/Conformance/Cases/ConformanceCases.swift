import CarrierSimulator

/// All cases. The names of sections A to E are those of the suites and papers that the cases come from; a name in a
/// suite with several variants has the variant behind a colon.
enum ConformanceCases {
    /// A case that does not apply.
    struct Other: Sendable {
        let id: String
        let reason: String
    }

    struct Section: Sendable {
        let title: String
        let cases: [ConformanceCase]
        var others: [Other] = []
    }

    static let sections = [
        Section(title: "A. The older certification suite", cases: olderSuite, others: olderOthers),
        Section(title: "B. The newer certification suite", cases: newerSuite, others: newerOthers),
        Section(title: "C. The FAPI 2.0 security profile", cases: fapi, others: fapiOthers),
        Section(title: "D. What no suite covers", cases: gaps),
        Section(title: "E. The security literature", cases: literature, others: literatureOthers),
        Section(title: "F. Faults of carriers that none of these has", cases: faults),
    ]

    static let literature = forgedTokens + hostileKeys + hostileEndpoints + brokenHTTP + attacks

    static let all = sections.flatMap(\.cases)

    static func others(_ reason: String, _ ids: String...) -> [Other] { ids.map { Other(id: $0, reason: reason) } }

    static let noEncryption = "No encryption is registered; encrypted answers are refused (see sec-22)."
    static let noFrontChannel = "Tokens are never taken from the front channel."
    static let noRegistration = "Carriers register their clients by hand."
    static let noWebFinger = "Carriers are found by mccmnc, not by WebFinger."
    static let noRequestURIs =
        "Authorization requests have plain parameters; request objects, with which users are asked on the phone, go by value."
    static let noClaimsParameter = "Claims are asked for by scope, without the claims parameter."
    static let noCarrierRefresh = "A carrier's tokens are discarded after the sign-in, so that none is refreshed."
    static let noThirdParty = "Sign-ins begin at /auth/{provider}/start with an mccmnc; no issuer of others is taken."
    static let noFrames =
        "Providers end sessions by the back channel: browsers send no cookies into other sites' frames."
}
