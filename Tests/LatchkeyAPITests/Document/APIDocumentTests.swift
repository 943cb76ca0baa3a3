import Foundation
import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

@testable import Backchannel
@testable import PhoneVerification
@testable import Redirects
@testable import StatusPage

/// The OpenAPI document is complete, consistent and correct.
@Suite struct APIDocumentTests {
    private let contract: APIContract

    init() throws {
        contract = try APIContract(PublishedAPI.document)
    }

    @Test("The document has every route, also those of features, and no other")
    func routes() async throws {
        let app = try TestApp()
        let api = LatchkeyAPI(
            useCases: app.useCases, apiKeys: APIKeys([]),
            features: try TestApp.features(over: app.testStore.store) + [
                app.backchannel, PhoneVerificationFeature(PhoneVerificationSettings(), in: .test(app.testStore.store)),
                app.redirects, StatusRoutes.ofNothing,
            ], logger: app.log.logger)
        let routes = Set(api.routes.map { "\($0.method) \($0.pattern)" })
        let told = Set(contract.operations)
        let sent = try await api.handler()(Request(.get, "/openapi.json", headers: [:], body: []))
        #expect(Set(try APIContract(JSONValue(parsing: sent.body)).operations) == told)
        for route in routes.subtracting(told).sorted() {
            Issue.record(
                """
                \(route) is routed in makeRouter, and /openapi.json does not have it. Add an APIOperation for it to \
                those of its tag in Sources/LatchkeyAPI/Document/APIOperations.swift (a new tag: also to \
                APIOperation.Tag and APIOperation.ofCore), or to the operations of its feature, with the same {names} \
                in the path; then have OpenAPITourTests call it.
                """)
        }
        for operation in told.subtracting(routes).sorted() {
            Issue.record(
                """
                /openapi.json has \(operation), and makeRouter does not route it. Remove or rename its APIOperation in \
                Sources/LatchkeyAPI/Document.
                """)
        }
        #expect(contract.operations.count == told.count, "an operation stands in the document twice")
    }

    @Test("Each body has one content type, which is a form only where JSON is refused")
    func bodies() throws {
        var forms: Set<String> = []
        for (path, method, call) in calls {
            guard let body = call["requestBody"]?.object else { continue }
            let types = body["content"]?.object?.members.map(\.name) ?? []
            #expect(types.count == 1, "\(method) \(path)")
            if types != ["application/json"] { forms.insert(path) }
        }
        #expect(
            forms == [
                "/auth/{provider}/backchannel-logout", "/auth/{provider}/callback",
                "/auth/{provider}/{client_type}/callback", "/auth/{provider}/initiate-login",
                "/events/{provider}", "/register",
            ])
    }

    @Test("Each coding of the document is made once, and every response refers to the same bytes")
    func codings() async throws {
        let app = try TestApp()
        let api = LatchkeyAPI(
            useCases: app.useCases, apiKeys: APIKeys([]), features: [app.redirects], logger: app.log.logger)
        let handler = api.handler()
        func document(_ headers: HTTPFields) async throws -> Response {
            try await handler(Request(.get, "/openapi.json", headers: headers, body: []))
        }
        func address(of response: Response) -> UnsafeRawPointer? { response.body.withUnsafeBytes { $0.baseAddress } }
        let plain = try await document([:])
        let coded = try await document([.acceptEncoding: "gzip"])
        #expect(plain.headers[.contentEncoding] == nil)
        #expect(coded.headers[.contentEncoding] == "gzip")
        #expect(coded.body.count < plain.body.count / 4)
        #expect(coded.body.starts(with: [0x1F, 0x8B]))
        let (again, codedAgain) = (try await document([:]), try await document([.acceptEncoding: "br, gzip;q=0.5"]))
        #expect(address(of: again) == address(of: plain))
        #expect(address(of: codedAgain) == address(of: coded))
        for response in [plain, coded] { #expect(response.headers[.vary] == "Accept-Encoding") }
        let tags = [plain, coded].compactMap { $0.headers[.eTag] }
        #expect(tags.count == 2 && tags[0] != tags[1])
        for tag in tags {
            for (coding, known) in [("identity", tags[0]), ("gzip", tags[1])] {
                let headers: HTTPFields = [.acceptEncoding: coding, .ifNoneMatch: tag]
                let unchanged = try await document(headers)
                #expect(unchanged.status == .notModified)
                #expect(unchanged.body.isEmpty)
                #expect(unchanged.headers[.eTag] == known)
                #expect(unchanged.headers[.vary] == "Accept-Encoding")
            }
        }
    }

    @Test("Each {name} of a path is declared once as a parameter, and no other name is")
    func pathParameters() throws {
        for (path, method, call) in calls {
            let inPath = path.split(separator: "/").filter { $0.hasPrefix("{") }
                .map { String($0.dropFirst().dropLast()) }
            let told = (call["parameters"]?.array ?? []).compactMap(\.object)
                .filter { $0["in"]?.string == "path" }.compactMap { $0["name"]?.string }
            #expect(
                told.sorted() == inPath.sorted(),
                "\(method) \(path): make the .path parameters of its APIOperation those of its path")
        }
    }

    @Test("References resolve, and names are unique")
    func references() throws {
        var references: Set<String> = []
        collect(PublishedAPI.document, into: &references)
        #expect(references.count > 50)
        for reference in references {
            #expect(contract.schemas.resolved(.object(of: [("$ref", .string(reference))])) != nil, "\(reference)")
        }
        let ids = calls.compactMap { $0.call["operationId"]?.string }
        #expect(Set(ids).count == calls.count)
        let components = try #require(PublishedAPI.document.object?["components"]?.object)
        for name in components["schemas"]?.object?.members.map(\.name) ?? [] {
            #expect(references.contains("#/components/schemas/\(name)"), "nothing refers to the schema \(name)")
        }
        let examples = components["examples"]?.object?.members.map(\.name) ?? []
        #expect(examples.count > 40)
        for name in Set(examples) {
            #expect(examples.count { $0 == name } == 1, "two errors have the name \(name): give one another by as:")
        }
    }

    @Test("Every example matches its schema")
    func examples() throws {
        var count = 0
        for (path, method, call) in calls {
            let bodies = [call["requestBody"]].compactMap { $0?.object }
            let answers = (call["responses"]?.object?.members ?? []).compactMap { contract.schemas.resolved($0.value) }
            for media in (bodies + answers).flatMap({ $0["content"]?.object?.members ?? [] }) {
                guard media.name.contains("json") || media.name.contains("form") else { continue }
                let examples = (media.value.object?["examples"]?.object?.members ?? [])
                    .compactMap { contract.schemas.resolved($0.value)?["value"] }
                let all = [media.value.object?["example"]].compactMap(\.self) + examples
                #expect(!all.isEmpty, "\(method) \(path) has no example of \(media.name), or one that is not JSON")
                for example in all {
                    count += 1
                    let faults = contract.schemas.faults(of: example, media.value.object?["schema"] ?? .null)
                    #expect(faults.isEmpty, "\(method) \(path): \(faults)")
                }
            }
        }
        #expect(count > 100)
    }

    @Test("Each example of an error is made where the error is thrown, and no text of one is in the document")
    func errors() throws {
        let folder = "Sources/LatchkeyAPI/Document"
        let files =
            try FileManager.default.contentsOfDirectory(atPath: Repository.path(folder)).sorted()
            .map { "\(folder)/\($0)" } + [
                "Sources/Backchannel/Routes/BackchannelOperations.swift",
                "Sources/Linking/LinkingOperations.swift",
                "Sources/NativeSignIn/NativeSignInFeature.swift",
                "Sources/PhoneVerification/NumberMethods.swift",
                "Sources/PhoneVerification/PhoneVerificationRoutes.swift",
                "Sources/ProviderLogout/ProviderLogoutFeature.swift",
                "Sources/ProviderResources/ProviderResourcesFeature.swift",
                "Sources/Redirects/Routes/RedirectOperations.swift",
                "Sources/Registration/RegistrationFeature.swift", "Sources/SecurityEvents/SecurityEventsFeature.swift",
                "Sources/Services/ServicesFeature.swift",
                "Sources/StatusPage/StatusRoutes+Operations.swift", "Sources/Transactions/TransactionsFeature.swift",
            ]
        for file in files {
            let copies = try Repository.text(file)
                .matches(of: /\b(?:APIError|HTTPError)\(\s*\.|\.malformed\(|reason: "[^"]/)
            #expect(copies.isEmpty, "\(file) makes an error: use the value that the server throws")
        }
        #expect(files.contains("\(folder)/APIRefusal.swift"))
    }

    @Test("The fields of each body in the document are those that its call reads")
    func fieldsAreRead() async throws {
        let app = try TestApp()
        let token = try await app.token()
        let words = try wordsOfDecoders()
        #expect(words.count > 40)
        for (path, method, call) in calls {
            guard let content = call["requestBody"]?.object?["content"]?.object?["application/json"]?.object,
                let schema = content["schema"].flatMap({ contract.schemas.resolved($0) }),
                // They require a token of the carrier, and a session at an aggregator.
                !path.hasSuffix("/notification"), !path.hasSuffix("/start/{id}/confirmation")
            else { continue }
            let told = Set((schema["properties"]?.object?.members ?? []).map(\.name))
            var read: Set<String> = []
            for field in words.union(told) {
                // Sends a value of a type that no field has.
                // A link's other fields are read only after its provider is known.
                let isLink = path == "/users/me/identities" && field != "provider"
                let provider = isLink ? [("provider", JSONValue.string("zenkey"))] : []
                let answer = try await app.send(
                    try #require(HTTPRequest.Method(method)),
                    path.replacing(
                        "{provider}", with: path.hasSuffix("/backchannel") ? TestApp.provider : "zenkey"
                    ).replacing("{id}", with: "no-such-id"),
                    call["security"] == Self.cookieOnly
                        ? [
                            .contentType: "application/json", .cookie: "__Host-latchkey_session=\(token)",
                            try #require(HTTPField.Name("Sec-Fetch-Site")): "same-origin", .accept: "application/json",
                        ] : [.contentType: "application/json", .authorization: "Bearer \(token)"],
                    body: JSONValue.object(of: provider + [(field, .object(of: []))]).text,
                    apiKey: call["security"] == Self.cookieOnly ? nil : TestApp.apiKey)
                #expect(answer.status == 400, "\(method) \(path) \(field)")
                let isNamed = answer.description.dropLast().split(separator: "; ").contains {
                    $0.hasPrefix(field + " ") && !$0.hasSuffix("is missing") && !$0.hasSuffix("cannot be changed")
                }
                if isNamed { read.insert(field) }
            }
            // Undocumented aliases, and fields of pages' requests only.
            var aliases: Set<String> = ["zenkey_sub", "phone", "phone_number", "client_type"]
            if path.hasSuffix("/logout") { aliases.insert("redirect_uri") }
            // Read for mobile operators only, as OperatorTokenTests and NumberLinkTests show.
            if path.hasSuffix("sign-in") || path.hasSuffix("-signin") || path == "/users/me/identities" {
                // A malformed `user` is ignored.
                aliases.formUnion(["operator_token", "operator", "user", "token", "method", "sign_in_id"])
                aliases.formUnion(["vp_token", "data"])
            }
            // The same of a start, as FirebaseNumberTests and DigitalCredentialTests show.
            if path == "/auth/{provider}/start" {
                aliases.formUnion(["operator_token", "token", "method", "nonce", "strategy"])
            }
            // `data` is named as the `vp_token` that it lacks.
            if path.hasSuffix("/verifications/{id}/confirmation") { aliases.insert("data") }
            if path.hasSuffix("/native") { aliases.insert("user") }
            #expect(
                read.subtracting(aliases) == told.subtracting(aliases),
                "\(method) \(path): make the fields in APISchema+Bodies.swift those that the decoder reads")
        }
    }

    private static let cookieOnly = JSONValue.array([.object(of: [("sessionCookie", .array([]))])])

    /// Every possible field name in the files that read requests.
    private func wordsOfDecoders() throws -> Set<String> {
        let folders = [
            "Backchannel/Routes", "LatchkeyAPI/Decoding", "LatchkeyAPI/Routes", "Linking", "NativeSignIn",
            "PhoneVerification", "PhoneVerification/Credentials", "ProviderLogout", "Redirects/Routes", "Registration",
            "Services", "Transactions",
        ]
        let files = try folders.flatMap { folder in
            try FileManager.default.contentsOfDirectory(
                at: Repository.root.appendingPathComponent("Sources/\(folder)"),
                includingPropertiesForKeys: nil)
        }.filter { $0.pathExtension == "swift" }
        return try Set(
            files.flatMap { file in
                try String(contentsOf: file, encoding: .utf8).matches(of: /"([a-z][a-z_]+)"/).map { String($0.1) }
            })
    }

    @Test("The document is public, cacheable, and has an entity tag")
    func delivery() async throws {
        let app = try TestApp()
        let answer = try await app.send(.get, "/openapi.json", apiKey: nil)
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "application/json; charset=utf-8")
        #expect(answer.headers[.cacheControl] == "public, max-age=300")
        #expect(answer.json?["openapi"]?.string == "3.1.0")
        #expect(
            answer.body
                == PublishedAPI.document(
                    of: try TestApp.features(over: app.testStore.store).map { type(of: $0) } + [
                        BackchannelFeature.self, PhoneVerificationFeature.self, RedirectsFeature.self,
                    ]
                ).text.replacing(#""version":"1""#, with: #""version":"unreleased""#))
        let tag = try #require(answer.headers[.eTag])
        // The last one is the compressed response's.
        for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*", tag.dropLast() + "-gzip\""] {
            let again = try await app.send(.get, "/openapi.json", [.ifNoneMatch: known], apiKey: nil)
            #expect(again.status == 304, "\(known)")
            #expect(again.body.isEmpty)
            #expect(again.headers[.eTag] == tag)
        }
        let changed = try await app.send(.get, "/openapi.json", [.ifNoneMatch: "\"other\""], apiKey: nil)
        #expect(changed.status == 200)
        #expect(changed.headers[.eTag] == tag)
    }

    @Test("The document has the server's path and the names of its cookies")
    func place() throws {
        let servers = PublishedAPI.document.object?["servers"]?.array
        #expect(servers?.first?.object?["url"]?.string == "/base")
        let root = OpenAPIDocument(
            version: "2", sessionCookie: "latchkey_session", refreshCookie: "latchkey_refresh", path: ""
        ).json.object
        #expect(root?["servers"]?.array?.first?.object?["url"]?.string == "/")
        #expect(root?["info"]?.object?["version"]?.string == "2")
        let schemes = root?["components"]?.object?["securitySchemes"]?.object
        #expect(schemes?["sessionCookie"]?.object?["name"]?.string == "latchkey_session")
        #expect(schemes?["refreshCookie"]?.object?["name"]?.string == "latchkey_refresh")
    }

    private var calls: [(path: String, method: String, call: JSONObject)] {
        (PublishedAPI.document.object?["paths"]?.object?.members ?? []).flatMap { path in
            (path.value.object?.members ?? []).compactMap { call in
                call.value.object.map { (path.name, call.name.uppercased(), $0) }
            }
        }
    }

    private func collect(_ value: JSONValue, into references: inout Set<String>) {
        if let reference = value.object?["$ref"]?.string { references.insert(reference) }
        for member in value.object?.members ?? [] { collect(member.value, into: &references) }
        for element in value.array ?? [] { collect(element, into: &references) }
    }
}
