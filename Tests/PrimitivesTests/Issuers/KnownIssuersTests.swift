import Primitives
import Testing

/// The rule for the bindings of issuers, which all stores have.
@Suite("Known issuers")
struct KnownIssuersTests {
    private static let issuer = "https://id.a.example"

    private func binding(_ trust: IssuerBinding.Trust, keys: String = "k", issuer: String = Self.issuer)
        -> IssuerBinding
    {
        IssuerBinding(issuer: issuer, jwksURI: keys, tokenHost: "id.a.example", hosts: ["id.a.example"], trust: trust)
    }

    @Test(
        "What becomes of a binding depends on both reasons for trust, and on whether they differ",
        arguments: [
            (nil, .firstUse, true, .isAdded, false), (nil, .confirmed, true, .isAdded, false),
            (nil, .pinned, true, .isAdded, false),
            (.firstUse, .firstUse, true, .stays, false), (.firstUse, .firstUse, false, .stays, false),
            (.firstUse, .confirmed, true, .isReplaced, false), (.firstUse, .confirmed, false, .isReplaced, true),
            (.firstUse, .pinned, true, .isReplaced, false), (.firstUse, .pinned, false, .isReplaced, false),
            (.confirmed, .firstUse, true, .stays, false), (.confirmed, .firstUse, false, .stays, false),
            (.confirmed, .confirmed, true, .stays, false), (.confirmed, .confirmed, false, .isReplaced, false),
            (.confirmed, .pinned, true, .isReplaced, false), (.confirmed, .pinned, false, .isReplaced, false),
            (.pinned, .firstUse, true, .stays, false), (.pinned, .firstUse, false, .stays, false),
            (.pinned, .confirmed, true, .stays, false), (.pinned, .confirmed, false, .stays, false),
            (.pinned, .pinned, true, .stays, false), (.pinned, .pinned, false, .isReplaced, false),
        ] as [(IssuerBinding.Trust?, IssuerBinding.Trust, isSame: Bool, KnownIssuer.Effect, forgets: Bool)])
    func bindings(
        former: IssuerBinding.Trust?, new: IssuerBinding.Trust, isSame: Bool, effect: KnownIssuer.Effect, forgets: Bool
    ) {
        let known = KnownIssuer(networkIssuer: Self.issuer, binding: former.map { binding($0) })
        let change = known.change(by: binding(new, keys: isSame ? "k" : "other"))
        #expect(change.binding == effect)
        #expect(change.networkIssuer == .stays)
        #expect(change.forgetsOtherNetworks == forgets)
    }

    @Test(
        "A network keeps its issuer, unless another one is pinned",
        arguments: [
            (nil, .firstUse, .isAdded), (nil, .confirmed, .isAdded), (nil, .pinned, .isAdded),
            (Self.issuer, .firstUse, .stays), (Self.issuer, .pinned, .stays),
            ("https://id.b.example", .firstUse, .stays), ("https://id.b.example", .confirmed, .stays),
            ("https://id.b.example", .pinned, .isReplaced),
        ] as [(String?, IssuerBinding.Trust, KnownIssuer.Effect)])
    func networks(former: String?, new: IssuerBinding.Trust, effect: KnownIssuer.Effect) {
        #expect(KnownIssuer(networkIssuer: former).change(by: binding(new)).networkIssuer == effect)
    }

    @Test("A lie that is refuted takes its other networks with it")
    func refuted() {
        var known = KnownIssuers()
        for network in ["310001", "310002"] { _ = known.bind(binding(.firstUse), to: network) }
        _ = known.bind(binding(.firstUse, issuer: "https://id.b.example"), to: "310003")
        let confirmed = binding(.confirmed, keys: "other")
        #expect(known.bind(confirmed, to: "310002") == KnownIssuer(networkIssuer: Self.issuer, binding: confirmed))
        #expect(known.networkIssuers == ["310002": Self.issuer, "310003": "https://id.b.example"])
    }

    @Test("Networks and issuers are limited in number; known ones still change")
    func bounded() {
        var known = KnownIssuers()
        _ = known.bind(binding(.firstUse), to: "310001", limit: 1)
        #expect(known.bind(binding(.firstUse, issuer: "https://id.b.example"), to: "310002", limit: 1) == KnownIssuer())
        let pinned = binding(.pinned, keys: "other")
        #expect(known.bind(pinned, to: "310001", limit: 1).binding == pinned)
    }

    @Test("Only a binding of first use can be forgotten, with its networks")
    func forgotten() {
        var known = KnownIssuers()
        _ = known.bind(binding(.confirmed), to: "310001")
        known.forgetFirstUse(of: Self.issuer)
        #expect(known.known(of: "310001", Self.issuer).binding == binding(.confirmed))
        _ = known.bind(binding(.firstUse, issuer: "https://id.b.example"), to: "310002")
        known.forgetFirstUse(of: "https://id.b.example")
        #expect(known.networkIssuers == ["310001": Self.issuer])
        #expect(known.bindings.count == 1)
    }
}
