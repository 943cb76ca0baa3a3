import Primitives

/// How long providers' metadata and keys are kept, and how often they are asked for. Times are in seconds.
public struct CacheRules: Sendable, Hashable {
    /// The bounds for what a provider's Cache-Control asks; `no-store` and `no-cache` mean the shortest.
    public var minimumLifetime: Int64 = 60
    public var maximumLifetime: Int64 = 86_400
    /// For an answer without Cache-Control.
    public var defaultLifetime: Int64 = 3_600
    /// How long metadata and keys stay in use after their time if newer ones cannot be had.
    public var staleLifetime: Int64 = 86_400
    /// How long after a failed refresh what is known serves on before a sign-in tries again.
    public var retryInterval: Int64 = 60
    /// How many refreshes before their time are under way at once.
    public var maximumRefreshes = 8
    /// How long a network that discovery does not know is answered without asking again.
    public var unknownNetworkLifetime: Int64 = 30
    /// How many networks are kept.
    public var maximumNetworks = 1024
    /// Key sets are fetched at most so many times at once, and then once in ``keyFetchInterval``: enough for keys
    /// rotated seconds after a fetch, and little enough for a flood of tokens with unknown key ids or bad signatures.
    public var keyFetchBurst: Int64 = 3
    public var keyFetchInterval: Int64 = 10

    public init() {}

    /// The lifetime an answer's Cache-Control field (RFC 9111 section 5.2) gives it, within the bounds.
    func lifetime(cacheControl: String?) -> Int64 {
        guard let cacheControl else { return bounded(defaultLifetime) }
        guard cacheControl.isASCII else { return minimumLifetime }
        var lifetime: Int64?
        for directive in cacheControl.lowercased().utf8.split(separator: UInt8(ascii: ",")) {
            let text = String(Substring(directive).filter { $0 != " " && $0 != "\t" && $0 != "\"" })
            if text == "no-store" || text == "no-cache" { return minimumLifetime }
            guard text.hasPrefix("max-age=") else { continue }
            let digits = text.dropFirst("max-age=".count)
            // More digits than fit mean "very long" (RFC 9111 section 1.2.2); what is no number means "stale".
            let isNumber = !digits.isEmpty && digits.utf8.allSatisfy { (48...57).contains($0) }
            let seconds = isNumber ? Int64(digits) ?? .max : 0
            lifetime = min(lifetime ?? .max, seconds)
        }
        return bounded(lifetime ?? defaultLifetime)
    }

    /// When in its life something in use is refreshed in the background: at a random point between three quarters and
    /// nine tenths of it, so that what came together is not asked for together.
    func refreshDelay(of lifetime: Int64, _ random: RandomSource) -> Int64 {
        Int64(Double(lifetime) * (0.75 + 0.15 * Self.fraction(random)))
    }

    /// When a background refresh that failed is tried again: before a sign-in would have to.
    func retryDelay(_ random: RandomSource) -> Int64 {
        Int64(Double(retryInterval) * (0.5 + 0.4 * Self.fraction(random)))
    }

    /// From 0 to 1.
    private static func fraction(_ random: RandomSource) -> Double {
        Double(random.bytes(2).reduce(0) { $0 << 8 | UInt32($1) }) / 65_535
    }

    private func bounded(_ seconds: Int64) -> Int64 { max(minimumLifetime, min(maximumLifetime, seconds)) }
}
