/// A limit that is a quota: a row of a table. Its setting with default and warning, and what counts requests, follow
/// from the row.
public struct RateLimit: Sendable, Hashable {
    /// The key in `rate_limits`.
    package let key: String
    /// The default; nil for no limit.
    package var usual: RequestLimits.Quota?
    /// The name in refusals and metrics; nil for what the store alone counts.
    var policy: String?
    /// The setting's meaning.
    package let meaning: String
    /// What an administrator risks who turns the limit off; nil if there is no warning.
    package var risk: String?
    /// A rate that the warning suggests.
    package var example = "1000/10s"

    package static let all = [
        perAddress, signInsPerAddress, startsPerAddress, startsPerSubnet, perAPIKey, changesPerUser, promptsPerUser,
        promptsPerCaller,
    ]

    /// Requests of one address. By default enough for the phones of a town behind one address of their carrier.
    public static let perAddress = RateLimit(
        key: "per_address", usual: .init(count: 5000, seconds: 10), policy: "address",
        meaning: "Requests from one address (IPv6: one /64 network); more are answered 429. Loopback addresses have no "
            + "limit.", risk: "one address may send any number of requests")

    /// Sign-ins, registrations and refreshes of one address.
    public static let signInsPerAddress = RateLimit(
        key: "sign_ins_per_address", usual: .init(count: 1000, seconds: 10), policy: "sign-ins",
        meaning: "Sign-ins, registrations and refreshes from one address.",
        risk: "one address may send any number of sign-ins")

    /// Sign-ins by redirect started from one address: each is stored until it ends, and needs no API key.
    public static let startsPerAddress = RateLimit(
        key: "starts_per_address", usual: .init(count: 200, seconds: 10), policy: "starts",
        meaning: "Sign-ins by redirect started from one address.",
        risk: "one address may send any number of starts of sign-ins")

    /// Sign-ins by redirect started from one subnet, a /24 of IPv4 or a /48 of IPv6.
    public static let startsPerSubnet = RateLimit(
        key: "starts_per_subnet", usual: .init(count: 1000, seconds: 10), policy: "subnet-starts",
        meaning: "Sign-ins by redirect started from one subnet (IPv4: a /24; IPv6: a /48).",
        risk: "one subnet may start any number of sign-ins")

    /// Requests with one API key.
    public static let perAPIKey = RateLimit(
        key: "per_api_key", policy: "api-key", meaning: "Requests with one API key.")

    /// Changes of one user's account.
    public static let changesPerUser = RateLimit(
        key: "changes_per_user", usual: .init(count: 60, seconds: 60), policy: "account",
        meaning: "Changes to one user's account: profile, identities, transactions. Ending sessions has no limit.")

    /// Requests to a provider that ask one user on their phone, of all callers and instances together.
    public static let promptsPerUser = RateLimit(
        key: "prompts_per_user", usual: .init(count: 10, seconds: 3600),
        meaning: "Prompts on one user's phone by backchannel authentication, those of cancelled requests included. One "
            + "caller may cause half of them.", risk: "one user may be prompted any number of times", example: "10/1h")

    /// Requests of one caller to providers other than carriers, for all users together, that led to no sign-in. A
    /// caller is an API key, or an address without one.
    public static let promptsPerCaller = RateLimit(
        key: "prompts_per_caller", usual: .init(count: 100, seconds: 3600),
        meaning: "Prompts at OpenID providers by backchannel authentication that one caller (an API key, or an address "
            + "without one) may cause for all users together. Those whose users signed in do not count.",
        risk: "one caller may have a user prompted any number of times, with other spellings of login_hint",
        example: "100/1h")
}
