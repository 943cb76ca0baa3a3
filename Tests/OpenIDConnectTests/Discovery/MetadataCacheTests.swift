import Primitives
import Testing

@testable import OpenIDConnect

@Suite("Cached metadata")
struct MetadataCacheTests {
    private let start = Timestamp(secondsSinceEpoch: 1_800_000_000)
    private let random = RandomSource { [UInt8](repeating: 0, count: $0) }
    private let refused = OIDCError(.discoveryRefused, reason: "scripted")

    private func question(_ issuer: String = "a") throws -> MetadataQuestion {
        MetadataQuestion(
            source: .issuer(try #require(EndpointURL("https://\(issuer).example", policy: .httpsOnly))))
    }

    private func later(_ seconds: Int64) -> Timestamp { start.advanced(bySeconds: seconds) }

    /// A cache with metadata that is fresh for 1,000 seconds and usable for a day more.
    private func cache(_ metadata: String = "old") throws -> MetadataCache<String> {
        var cache = MetadataCache<String>(rules: CacheRules())
        cache.keep(metadata, freshness(1000), for: try question())
        return cache
    }

    private func freshness(_ seconds: Int64) -> Freshness {
        Freshness(
            OutboundResponse(status: 200, cacheControl: "max-age=\(seconds)"), at: start, rules: CacheRules(),
            random: random)
    }

    @Test(
        "is fresh for its lifetime, and usable for the stale lifetime after it",
        arguments: [
            (0, true, true), (-60, true, true), (-61, false, true), (-86_400, false, true), (999, true, true),
            (1000, false, true), (87_399, false, true), (87_400, false, false),
        ] as [(Int64, Bool, Bool)])
    func lifetimes(_ seconds: Int64, _ isFresh: Bool, _ isUsable: Bool) throws {
        var cache = try cache()
        let source = try question().source
        #expect((cache.fresh(source, at: later(seconds)) != nil) == isFresh)
        #expect((cache.usable(source, at: later(seconds)) != nil) == isUsable)
    }

    @Test("is due for a refresh after three quarters of its lifetime, if it was used")
    func due() throws {
        var cache = try cache()
        #expect(cache.due(at: later(900)).isEmpty)
        _ = cache.fresh(try question().source, at: later(1))
        #expect(cache.due(at: later(749)).isEmpty)
        #expect(cache.due(at: later(750)) == [try question()])
        #expect(cache.due(at: later(87_400)).isEmpty)
    }

    @Test("is due for a refresh, if it was used, when the clock was set back")
    func setBack() throws {
        var cache = try cache()
        #expect(cache.due(at: later(-86_400)).isEmpty)
        _ = cache.fresh(try question().source, at: later(1))
        #expect(cache.due(at: later(-60)).isEmpty)
        #expect(cache.due(at: later(-86_400)) == [try question()])
        // If that fails, no sign-in waits for another attempt.
        _ = cache.fallBack(from: refused, isLasting: true, for: try question(), at: later(-86_400), random: random)
        #expect(cache.fresh(try question().source, at: later(-86_400)) == "old")
        #expect(cache.due(at: later(-86_400)).isEmpty)
    }

    @Test("A cached error ends when the clock was set back")
    func refusalSetBack() throws {
        var cache = MetadataCache<String>(rules: CacheRules())
        let question = try question()
        _ = cache.fallBack(from: refused, isLasting: true, for: question, at: start, random: random)
        #expect(cache.refusal(question, at: later(-60)) == refused)
        #expect(cache.refusal(question, at: later(-61)) == nil)
        #expect(cache.refusal(question, at: later(29)) == refused)
        #expect(cache.refusal(question, at: later(30)) == nil)
    }

    @Test("stays in use when a request fails, without another attempt during the retry interval")
    func fallBack() throws {
        var cache = try cache()
        let question = try question()
        let outcome = cache.fallBack(
            from: refused, isLasting: true, for: question, at: later(1000), random: random)
        guard case .kept("old") = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(cache.fresh(question.source, at: later(1059)) == "old")
        #expect(cache.fresh(question.source, at: later(1060)) == nil)
        #expect(cache.refusal(question, at: later(1000)) == nil)
    }

    @Test(
        "is missing after a failure, whose error is cached for the retry interval if it is lasting",
        arguments: [true, false])
    func refusal(_ isLasting: Bool) throws {
        var cache = MetadataCache<String>(rules: CacheRules())
        let question = try question()
        let outcome = cache.fallBack(
            from: refused, isLasting: isLasting, for: question, at: start, random: random)
        #expect(throws: OIDCError.self) { try outcome.get() }
        #expect(cache.refusal(question, at: later(29)) == (isLasting ? refused : nil))
        #expect(cache.refusal(question, at: later(30)) == nil)
        cache.keep("new", freshness(60), for: question)
        #expect(cache.refusal(question, at: start) == nil)
    }

    @Test("that cannot be used becomes stale after the retry interval, but never later than before")
    func distrust() throws {
        var cache = try cache()
        let source = try question().source
        cache.distrust("another", at: start)
        #expect(cache.fresh(source, at: later(60)) == "old")
        cache.distrust("old", at: start)
        #expect(cache.fresh(source, at: later(59)) == "old")
        #expect(cache.fresh(source, at: later(60)) == nil)
        cache.distrust("old", at: later(30))
        #expect(cache.fresh(source, at: later(60)) == nil)
    }

    @Test("is removed when it is refuted")
    func removed() throws {
        var cache = try cache()
        let question = try question()
        cache.remove { _, metadata in metadata == "new" }
        #expect(cache.usable(question.source, at: start) == "old")
        cache.remove { source, metadata in source == question.source && metadata == "old" }
        #expect(cache.usable(question.source, at: start) == nil)
    }
}
