/// All cases.
package enum KitCases {
    package static let all: [KitCase] = [
        baseline, claims, times, headers, signatures, keys, discovery, token, userInfo, redirects, signedResponses,
        requests,
    ].flatMap(\.self)

    static let core = "OpenID Connect Core 1.0"
    static let validation = core + " section 3.1.3.7"

    /// What must work before a refusal says anything.
    static let baseline: [KitCase] = [
        .accepted("correct-code", .baseline, .correct, rule: "A correct sign-in succeeds.", source: core),
        .accepted(
            "correct-redirect", .baseline, .redirect, .correct, rule: "A correct sign-in succeeds.", source: core
        ).excluded(\.withoutRedirects),
    ]
}
