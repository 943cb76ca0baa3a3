import HTTPTypes
import SignIn
import TestSupport
import Testing

/// Which kinds of frontend a redirect URI is for.
@Suite("A client type that a link chooses")
struct ClientTypeTests {
    private static let challenge = "&code_challenge=\(String(repeating: "A", count: 43))&code_challenge_method=S256"
    private static let (page, link) = ("https://app.example/cb", "https://app.example/link")
    private static let (scheme, loopback) = ("com.example.app://cb", "http://127.0.0.1/done")
    private static let http = "http://[::1]:8080/"
    /// A page of an origin that is not the server's.
    private static let other = "https://shop.example/"

    private func start(
        _ clientType: String, _ uri: String, _ more: String = "",
        client change: @escaping (inout SignInConfiguration.Client) -> Void = { _ in }
    ) async throws -> Answer {
        let app = try TestApp(client: {
            $0.redirectURIs = [Self.page, Self.link, Self.scheme, Self.loopback, Self.http, Self.other]
            $0.clientTypes = [Self.link: [.ios, .android], Self.other: [.spa]]
            change(&$0)
        })
        // The other characters of the addresses need no encoding in a query.
        let encoded = uri.replacing("[", with: "%5B").replacing("]", with: "%5D")
        let query = "client_type=\(clientType)&redirect_uri=\(encoded)&mccmnc=310410\(more)"
        return try await app.send(.get, "/auth/zenkey/start?\(query)", [.accept: "application/json"], apiKey: nil)
    }

    static let rows: [(uri: String, types: Set<String>)] = [
        (page, ["web", "popup"]), (other, ["spa"]), (link, ["ios", "android"]), (scheme, ["ios", "android"]),
        (loopback, ["web", "popup", "ios", "android"]),
        ("http://127.0.0.1:49152/done", ["web", "popup", "ios", "android"]),
        (http, ["web", "popup", "ios", "android"]),
    ]

    @Test("is accepted if the redirect URI is for it, by its scheme or by configuration", arguments: rows)
    func allowed(uri: String, types: Set<String>) async throws {
        for type in ClientType.allCases.map(\.rawValue) {
            let answer = try await start(type, uri, Self.challenge)
            #expect(answer.status == (types.contains(type) ? 200 : 400), "\(type): \(answer.body)")
            guard answer.status == 400 else { continue }
            #expect(answer.error == "invalid_request")
            #expect(answer.headers[.setCookie] == nil)
        }
        for type in ["ios", "spa"] {
            #expect(try await start(type, Self.page, Self.challenge).description.contains("client_types"))
        }
    }

    @Test("is only the configured one if there are some")
    func configured() async throws {
        for (type, status) in [("web", 200), ("spa", 400), ("popup", 400), ("ios", 400)] {
            let answer = try await start(type, Self.page, Self.challenge) { $0.clientTypes[Self.page] = [.web] }
            #expect(answer.status == status, "\(type)")
        }
        // The configured types hold on every port of a loopback URI.
        let other = "http://127.0.0.1:49152/done"
        for (type, status) in [("web", 400), ("ios", 200)] {
            let answer = try await start(type, other, Self.challenge) { $0.clientTypes[Self.loopback] = [.ios] }
            #expect(answer.status == status, "\(type)")
        }
    }

    @Test("needs a code challenge if the client requires one, unless the session is in a cookie")
    func challenge() async throws {
        let uris = [
            "web": Self.page, "spa": Self.other, "popup": Self.page, "ios": Self.scheme, "android": Self.scheme,
        ]
        for (type, uri) in uris {
            for isRequired in [false, true] {
                let answer = try await start(type, uri) { $0.requiresCodeChallenge = isRequired }
                let isRefused = type == "spa" || isRequired && type != "web"
                #expect(answer.status == (isRefused ? 400 : 200), "\(type), required: \(isRequired)")
                #expect(!isRefused || answer.description.contains("code_challenge"))
                let challenged = try await start(type, uri, Self.challenge) { $0.requiresCodeChallenge = isRequired }
                #expect(challenged.status == 200, "\(type), required: \(isRequired)")
            }
        }
    }
}
