import CarrierSimulator
import Primitives

extension ConformanceCases {
    static let hostileKeys = sharedKeyIDs + badKeys + badPoints + hostileKeySets

    private static let sharedKeyIDs: [ConformanceCase] = [
        .ok(
            "sec-08 same-kid:enc-first",
            .keys { $0.insert(ConformanceKeys.rsaJWK($0[0]["kid"]?.string, use: "enc"), at: 0) }),
        .ok("sec-08 same-kid:enc-last", .keys { $0.append(ConformanceKeys.rsaJWK($0[0]["kid"]?.string, use: "enc")) }),
        .ok("sec-08 same-kid:ec-first", .keys { $0.insert(ConformanceKeys.ecJWK($0[0]["kid"]?.string), at: 0) }),
        .ok(
            "sec-08 same-kid:rsa-first", .es256,
            .keys { $0.insert(ConformanceKeys.rsaJWK($0[0]["kid"]?.string), at: 0) }),
        .ok("sec-08 same-kid:rsa-and-rsa", .keys { $0.insert(ConformanceKeys.rsaJWK($0[0]["kid"]?.string), at: 0) }),
        .ok("sec-08 same-kid:three-algorithms", .fault(.keysSharedKeyID)),
        .ok(
            "sec-08 same-kid:enc-by-key_ops",
            .keys { keys in
                let other = ConformanceKeys.rsaJWK(keys[0]["kid"]?.string).with("use", nil).with("key_ops", ["encrypt"])
                keys.insert(other, at: 0)
            }),
    ]

    private static let badKeys: [ConformanceCase] =
        [
            .rejected("sec-12 weak-rsa:1024", "key", .fault(.idTokenWeakKey)),
            .rejected("sec-12 weak-rsa:512", "key", modulus(bytes: 64)),
            .rejected("sec-12 weak-rsa:2047", "key", modulus(bytes: 256, first: 0x45)),
            .rejected("sec-12 weak-rsa:16384", "key", modulus(bytes: 2048)),
            .rejected("sec-12 weak-rsa:even", "key", modulus(bytes: 256, last: 0xC4)),
            .rejected("sec-12 weak-rsa:zero", "key", everyKey { $0.with("n", "AA") }),
            .rejected("sec-12 weak-rsa:e-1", "key", everyKey { $0.with("e", "AQ") }, .draft(forgeForExponentOne)),
            .rejected("sec-12 weak-rsa:e-3", "key", everyKey { $0.with("e", "Aw") }),
            .rejected("sec-12 weak-rsa:e-0", "key", everyKey { $0.with("e", "AA") }),
            .rejected("sec-12 weak-rsa:e-even", "key", everyKey { $0.with("e", "AQAC") }),
            .rejected("sec-12 weak-rsa:e-as-large-as-n", "key", everyKey { $0.with("e", $0["n"]) }),
            .rejected("sec-12 weak-rsa:n-number", "key", everyKey { $0.with("n", 7) }),
        ]

    private static let badPoints: [ConformanceCase] = [
        .rejected("sec-13 bad-ec:off-curve", "key", .es256, point(x: 32, y: 32, filler: 1)),
        .rejected("sec-13 bad-ec:zero", "key", .es256, point(x: 32, y: 32, filler: 0)),
        .rejected("sec-13 bad-ec:short-x", "key", .es256, point(x: 31, y: 32, filler: 1)),
        .rejected("sec-13 bad-ec:long-x", "key", .es256, point(x: 33, y: 32, filler: 0)),
        .rejected("sec-13 bad-ec:short-y", "key", .es256, point(x: 32, y: 31, filler: 1)),
        .rejected("sec-13 bad-ec:long-y", "key", .es256, point(x: 32, y: 48, filler: 1)),
        .rejected("sec-13 bad-ec:no-y", "key", .es256, everyKey { $0.with("y", nil) }),
        .rejected("sec-13 bad-ec:crv-mismatch", "key", .es256, everyKey { $0.with("crv", "P-384") }),
        .rejected("sec-13 bad-ec:kty-mismatch", "key", .es256, everyKey { $0.with("kty", "OKP") }),
        .rejected("sec-13 bad-ec:private-use", "key", .es256, everyKey { $0.with("use", "enc") }),
        .rejected("sec-13 bad-ec:alg-mismatch", "key", .es256, everyKey { $0.with("alg", "ES384") }),
    ]

    private static let hostileKeySets: [ConformanceCase] = [
        .upstream("sec-39 big-jwks:10-MB", .raw(.keys, Scripts.huge(#"{"keys":[],"x":""#, filler: 10 << 20, #""}"#))),
        .upstream("sec-39 big-jwks:2-MB", .fault(.keysHuge)),
        .upstream("sec-39 big-jwks:100000-keys", .answer(.keys, manyKeys(100_000, #"{"kty":"RSA"}"#))),
        .upstream("sec-39 big-jwks:101-keys", .answer(.keys, manyKeys(101, #"{"kty":"RSA"}"#))),
        .rejected(
            "sec-39 big-jwks:100-keys-without-kid", "key", .header("kid", nil),
            .keys { $0 = [JSONMembers](repeating: $0[0].with("kid", nil), count: 100) }),
        // Four keys of one kid are tried, of the cached set and of a fresh one.
        .rejected(
            "sec-39 big-jwks:100-keys-of-one-kid", "signature",
            .keys { keys in
                let other = ConformanceKeys.rsaJWK(keys[0]["kid"]?.string)
                keys = [JSONMembers](repeating: other, count: 99) + keys
            }, .fetches(2...2)),
        .ok("sec-39 junk-entries", .fault(.keysJunkEntries)),
        .upstream("sec-39 deep-jwks", .object(.keys) { $0["deep"] = deep(1000) }),
        .upstream("sec-39 keys-object", .object(.keys) { $0["keys"] = [:] }),
        .upstream("sec-39 no-keys", .object(.keys) { $0["keys"] = nil }),
        .upstream("sec-39 empty", .fault(.keysEmpty)),
        .rejected("sec-41 kid-flood", "key", .draft(nameRandomKey), .steps(flood), .posts(80), .fetches(1...6)),
        .upstream(
            "sec-41 kid-flood:jwks-500", .draft(nameRandomKey), .fault(.keys500), .steps(flood), .posts(80),
            .fetches(1...6), .later(10)),
        .upstream(
            "sec-41 kid-flood:jwks-empty", .draft(nameRandomKey), .object(.keys) { $0["keys"] = [] }, .steps(flood),
            .posts(80), .fetches(1...6), .elsewhere),
    ]

    private static func everyKey(
        _ edit: @escaping @Sendable (JSONMembers) -> JSONMembers
    ) -> ConformanceCase.Change { .keys { $0 = $0.map(edit) } }

    private static func modulus(bytes: Int, first: UInt8 = 0xC5, last: UInt8 = 0xC5) -> ConformanceCase.Change {
        everyKey { $0.with("n", ConformanceKeys.modulus(bytes: bytes, first: first, last: last)) }
    }

    private static func point(x: Int, y: Int, filler: UInt8) -> ConformanceCase.Change {
        everyKey { key in
            key.with("x", .string(Base64URL.encode([UInt8](repeating: filler, count: x))))
                .with("y", .string(Base64URL.encode([UInt8](repeating: filler, count: y))))
        }
    }

    private static func forgeForExponentOne(_ draft: inout TokenDraft) {
        draft.signature = .made(ConformanceKeys.signatureForExponentOne)
    }

    private static func manyKeys(_ count: Int, _ key: String) -> String {
        #"{"keys":["# + [String](repeating: key, count: count).joined(separator: ",") + "]}"
    }

    private static func nameRandomKey(_ draft: inout TokenDraft) {
        draft.header["kid"] = .string(RandomSource.system.token(bytes: 8))
    }
}
