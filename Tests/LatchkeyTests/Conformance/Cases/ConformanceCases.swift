import CarrierSimulator
import Primitives

/// All cases. Names in sections A to E are those of the suites and papers. A variant of a name
/// follows a colon.
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
        Section(title: "D. Cases that no suite covers", cases: gaps),
        Section(title: "E. The security literature", cases: literature, others: literatureOthers),
        Section(title: "F. Carrier faults beyond the sections above", cases: faults),
    ]

    static let literature = forgedTokens + hostileKeys + hostileEndpoints + brokenHTTP + attacks

    static let all = sections.flatMap(\.cases)

    static func others(_ reason: String, _ ids: String...) -> [Other] { ids.map { Other(id: $0, reason: reason) } }

    static let noEncryption =
        "No encryption is registered for these clients; where it is, EncryptedIDTokenTests "
        + "and EncryptedUserInfoTests have the rules."
    static let noFrontChannel = "Tokens are never accepted from the front channel."
    static let noRegistration = "Carriers register their clients by hand."
    static let noWebFinger = "Carriers are found by mccmnc, not by WebFinger."
    static let noRequestURIs =
        "Authorization requests have plain parameters, are signed, or were pushed; no request object is fetched."
    static let noClaimsParameter = "Claims are requested by scope, without the claims parameter."
    static let noCarrierRefresh = "A carrier's tokens are discarded after the sign-in, so none is refreshed."
    static let noThirdParty =
        "Carriers do not initiate sign-ins; at other providers LoginInitiationTests has the rules."
    static let noFrames =
        "Providers end sessions by back-channel logout: browsers send no cookies into frames of other sites."
}
