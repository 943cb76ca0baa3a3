import CarrierSimulator
import HTTPServer
import Primitives

extension ConformanceCases {
    static let hostileEndpoints = addresses + downgrades + redirects + otherRedirects + answers + oddAnswers

    private static let addresses: [ConformanceCase] =
        ["jwks_uri", "token_endpoint", "userinfo_endpoint"].flatMap { name -> [ConformanceCase] in
            [
                ("link-local", "http://169.254.169.254/latest/meta-data"), ("private", "https://10.0.0.1/\(name)"),
                ("ipv6-loopback", "https://[::1]/\(name)"), ("file", "file:///etc/passwd"),
                ("gopher", "gopher://127.0.0.1:70/_x"), ("user-info", "http://127.0.0.1@169.254.169.254/\(name)"),
                ("decimal", "http://2130706433/\(name)"), ("octal", "http://0177.0.0.1/\(name)"),
            ].map { .configuration("sec-28 ssrf:\(name)-\($0.0)", .metadata(name, .string($0.1))) }
        }

    private static let downgrades: [ConformanceCase] =
        ["jwks_uri", "token_endpoint", "userinfo_endpoint", "authorization_endpoint", "issuer"].map {
            // The host is trusted; plain http is not.
            .configuration("sec-29 http-downgrade:\($0)", .metadata($0, .string("http://login.carriers.test/\($0)")))
        }

    private static let redirects: [ConformanceCase] =
        [301, 302, 303, 307, 308].flatMap { status -> [ConformanceCase] in
            [
                .upstream("sec-30 redirect:token-\(status)", .redirect(.token, status)),
                .upstream("sec-30 redirect:jwks-\(status)", .redirect(.keys, status)),
                .upstream("sec-30 redirect:userinfo-\(status)", .redirect(.userInfo, status)),
                .configuration("sec-30 redirect:metadata-\(status)", .redirect(.discovery, status)),
            ]
        }

    private static let otherRedirects: [ConformanceCase] = [
        .upstream(
            "sec-30 redirect:token-other-host", .redirect(.token, 307, to: "https://login.carriers.test/token")),
        .upstream("sec-30 redirect:token-canary", .fault(.tokenRedirect)),
        .upstream("sec-30 redirect:jwks-canary", .fault(.keysRedirect)),
        .configuration("sec-30 redirect:metadata-canary", .fault(.discoveryRedirect)),
    ]

    private static let answers: [ConformanceCase] =
        [
            ("mac", "mac"), ("DPoP", "DPoP"), ("N_A", "N_A"), ("empty", ""), ("null", .null), ("5", 5),
            ("array", ["Bearer"]),
        ].map { (name: String, value: JSONValue) in
            .upstream("sec-31 token_type:\(name)", .tokens("token_type", value))
        }

    private static let oddAnswers: [ConformanceCase] = [
        .upstream("sec-31 token_type:absent", .tokens("token_type", nil)),
        .upstream("sec-31 token_type:wrong", .fault(.tokenWrongType)),
        .ok("sec-31 token_type:bearer", .tokens("token_type", "bearer")),
        .ok("sec-31 token_type:BEARER", .fault(.tokenTypeUppercase)),
        .upstream("sec-32 non-json-200:html", .fault(.tokenNotJSON)),
        .upstream("sec-32 non-json-200:empty", .fault(.tokenEmpty)),
        .upstream("sec-32 non-json-200:null", .answer(.token, "null")),
        .upstream("sec-32 non-json-200:array", .fault(.tokenNotObject)),
        .upstream("sec-32 non-json-200:empty-array", .answer(.token, "[]")),
        .upstream("sec-32 non-json-200:text", .answer(.token, #""x""#)),
        .upstream(
            "sec-32 non-json-200:form",
            .answer(.token, 200, "application/x-www-form-urlencoded", "access_token=a&token_type=Bearer&id_token=b")
        ),
        .upstream(
            "sec-32 non-json-200:bom", .answer(.token) { $0.body.insert(contentsOf: [0xEF, 0xBB, 0xBF], at: 0) }),
        .upstream(
            "sec-32 non-json-200:utf-16", .answer(.token) { $0.body = [0xFF, 0xFE] + $0.body.flatMap { [$0, 0] } }),
        .upstream("sec-32 non-json-200:bad-utf-8", .answer(.token) { add([0xFF, 0xFE], to: &$0.body) }),
        .upstream("sec-32 non-json-200:overlong-utf-8", .answer(.token) { add([0xC0, 0xAF], to: &$0.body) }),
        .upstream(
            "sec-32 non-json-200:lone-surrogate", .answer(.token) { add(Array(#"\ud800"#.utf8), to: &$0.body) }),
        .upstream("sec-32 non-json-200:trailing-garbage", .fault(.tokenTrailingGarbage)),
        .upstream("sec-32 non-json-200:duplicate-member", .fault(.tokenDuplicateMember)),
        .upstream("sec-32 non-json-200:deep", .tokens("deep", deep(1000))),
        // Policy: JSON with any content type except that of a page, a form or a JWT.
        .upstream("sec-32 non-json-200:labelled-html", .label(.token, "text/html")),
        .ok("sec-32 non-json-200:labelled-text", .label(.token, "text/plain")),
        .upstream("sec-32 non-json-200:2-MB", .fault(.tokenHuge)),
        .configuration("sec-32 non-json-200:metadata-array", .answer(.discovery, "[]")),
        .configuration("sec-32 non-json-200:metadata-huge", .object(.discovery) { $0["x"] = filler }),
        .upstream("sec-32 non-json-200:jwks-array", .answer(.keys, "[]")),
        .upstream("sec-32 non-json-200:userinfo-array", .answer(.userInfo, "[]")),
        .upstream("sec-32 non-json-200:userinfo-huge", .object(.userInfo) { $0["x"] = filler }),
    ]

    private static let filler = JSONValue.string(String(repeating: "f", count: 1 << 17))

    /// Adds a member whose value has these bytes.
    private static func add(_ bytes: [UInt8], to body: inout [UInt8]) {
        body = body.dropLast() + Array(#","x":""#.utf8) + bytes + Array(#""}"#.utf8)
    }
}
