import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@Suite("Any store: bindings of carriers' issuers")
struct IssuerBindingConformanceTests {
    private static let issuer = "https://id.a.example"

    private func binding(
        _ trust: IssuerBinding.Trust, keys: String = "https://id.a.example/jwks", issuer: String = Self.issuer
    ) -> IssuerBinding {
        IssuerBinding(
            issuer: issuer, jwksURI: keys, tokenHost: "id.a.example", hosts: ["id.a.example", "user.a.example"],
            trust: trust
        )
    }

    private func bind(
        _ binding: IssuerBinding, _ network: String, _ store: SQLStore, limit: Int = 9
    ) async throws -> KnownIssuer {
        try await store.bindIssuer(binding, to: network, limit: limit, at: Records.now)
    }

    @Test("A binding is read unchanged, also by a store that is opened later", arguments: StoreKind.engines)
    func kept(kind: StoreKind) async throws {
        let (open, holding) = try kind.make()
        for trust in IssuerBinding.Trust.allCases {
            let issuer = "https://\(trust.rawValue).example"
            let expected = KnownIssuer(networkIssuer: issuer, binding: binding(trust, issuer: issuer))
            #expect(try await bind(binding(trust, issuer: issuer), trust.rawValue, open()) == expected)
            #expect(try await open().knownIssuer(of: trust.rawValue, issuer) == expected)
        }
        let unknown = KnownIssuer(networkIssuer: nil, binding: nil)
        #expect(try await open().knownIssuer(of: "310999", "https://unknown.example") == unknown)
        withExtendedLifetime(holding) {}
    }

    /// Which of two bindings with different keys is in force: the first or the second.
    static let pairs: [(IssuerBinding.Trust, IssuerBinding.Trust, isSecond: Bool)] = [
        (.firstUse, .firstUse, false), (.firstUse, .confirmed, true), (.firstUse, .pinned, true),
        (.confirmed, .firstUse, false), (.confirmed, .confirmed, true), (.confirmed, .pinned, true),
        (.pinned, .firstUse, false), (.pinned, .confirmed, false), (.pinned, .pinned, true),
    ]

    @Test("A binding is replaced by one that is trusted as much", arguments: StoreKind.engines, pairs)
    func trust(
        kind: StoreKind, pair: (IssuerBinding.Trust, IssuerBinding.Trust, isSecond: Bool)
    ) async throws {
        let (store, holding) = try kind.open()
        let first = binding(pair.0)
        let second = binding(pair.1, keys: "https://id.a.example/other")
        #expect(try await bind(first, "310001", store).binding == first)
        let known = try await bind(second, "310002", store)
        #expect(known.binding == (pair.isSecond ? second : first))
        #expect(known.networkIssuer == Self.issuer)
        // A lie that is refuted takes its networks with it.
        let isRefuted = pair == (.firstUse, .confirmed, true)
        #expect(try await store.knownIssuer(of: "310001", "").networkIssuer == (isRefuted ? nil : Self.issuer))
        withExtendedLifetime(holding) {}
    }

    @Test("A network keeps its issuer, unless another one is pinned", arguments: StoreKind.engines)
    func networks(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let other = "https://id.b.example"
        _ = try await bind(binding(.confirmed), "310001", store)
        #expect(try await bind(binding(.confirmed, issuer: other), "310001", store).networkIssuer == Self.issuer)
        #expect(try await bind(binding(.pinned, issuer: other), "310001", store).networkIssuer == other)
        withExtendedLifetime(holding) {}
    }

    @Test("Only a binding of first use can be removed, with its networks", arguments: StoreKind.engines)
    func removed(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        _ = try await bind(binding(.confirmed), "310001", store)
        try await store.removeFirstUse(of: Self.issuer)
        #expect(try await store.knownIssuer(of: "310001", Self.issuer).binding == binding(.confirmed))
        let other = "https://id.b.example"
        _ = try await bind(binding(.firstUse, issuer: other), "310002", store)
        try await store.removeFirstUse(of: other)
        let unknown = KnownIssuer(networkIssuer: nil, binding: nil)
        #expect(try await store.knownIssuer(of: "310002", other) == unknown)
        #expect(try await store.knownIssuer(of: "310001", "").networkIssuer == Self.issuer)
        withExtendedLifetime(holding) {}
    }

    @Test("Networks and issuers are limited in number; known ones still change", arguments: StoreKind.engines)
    func bounded(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        _ = try await bind(binding(.firstUse), "310001", store, limit: 1)
        let none = KnownIssuer(networkIssuer: nil, binding: nil)
        #expect(
            try await bind(binding(.firstUse, issuer: "https://id.b.example"), "310002", store, limit: 1) == none)
        let changed = binding(.pinned, keys: "https://id.a.example/other")
        #expect(try await bind(changed, "310001", store, limit: 1).binding == changed)
        withExtendedLifetime(holding) {}
    }

    @Test("Whatever is bound, the store knows what the value in memory knows", arguments: StoreKind.engines)
    func sameAsInMemory(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        var known = KnownIssuers()
        let trusts = IssuerBinding.Trust.allCases
        var random = SeededGenerator(seed: 7)
        for round in 0..<20 {
            // Of its own issuers and networks, because a pinned binding never changes again.
            let networks = (0..<3).map { "31\(100 + round)\($0)" }
            for step in 0..<8 {
                let issuer = "https://\(Int.random(in: 0..<2, using: &random)).\(round).example"
                let trust = trusts[Int.random(in: trusts.indices, using: &random)]
                let keys = "https://\(Int.random(in: 0..<2, using: &random)).example"
                let new = binding(trust, keys: keys, issuer: issuer)
                let network = networks[Int.random(in: networks.indices, using: &random)]
                if step == 5 {
                    try await store.removeFirstUse(of: issuer)
                    known.forgetFirstUse(of: issuer)
                }
                let expected = known.bind(new, to: network, limit: 100)
                #expect(try await bind(new, network, store, limit: 100) == expected, "round \(round), step \(step)")
                for network in networks {
                    #expect(try await store.knownIssuer(of: network, issuer) == known.known(of: network, issuer))
                }
            }
        }
        withExtendedLifetime(holding) {}
    }

    @Test("Of concurrent first bindings by several instances, all see the same one", arguments: StoreKind.engines)
    func race(kind: StoreKind) async throws {
        let (open, holding) = try kind.make()
        let stores = try (0..<3).map { _ in try open() }
        let seen = try await withThrowingTaskGroup(of: IssuerBinding?.self) { group in
            for number in 0..<12 {
                group.addTask {
                    let own = binding(.firstUse, keys: "https://id.a.example/\(number)")
                    return try await bind(own, "3100\(10 + number)", stores[number % 3]).binding
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(seen.count == 1)
        withExtendedLifetime(holding) {}
    }
}
