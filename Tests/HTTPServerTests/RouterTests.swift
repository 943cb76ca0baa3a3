import HTTPServer
import HTTPTypes
import Testing

@Suite("Router")
struct RouterTests {
    private static let router: Router = {
        var router = Router()
        func answer(_ name: String) -> Handler {
            { request in
                let parameters = ["a", "b", "rest"].compactMap { key in request.parameters[key].map { "\(key)=\($0)" } }
                return Response(
                    status: .ok, contentType: "text/plain", text: ([name] + parameters).joined(separator: " "))
            }
        }
        router.get("/", answer("root"))
        router.get("/users", answer("users"))
        router.post("/users", answer("new user"))
        router.get("/users/me", answer("me"))
        router.get("/users/{a}", answer("user"))
        router.on(.delete, "/users/{a}", answer("no user"))
        router.get("/users/{a}/keys/{b}", answer("key"))
        router.get("/{a}/keys/{b}", answer("any key"))
        router.get("/{a}/keys/first", answer("first key"))
        router.on(.head, "/heads", answer("head of its own"))
        router.get("/heads", answer("heads"))
        router.get("/replaced", answer("earlier"))
        router.get("/replaced", answer("later"))
        router.get("/slash", answer("no slash"))
        router.get("/slash/", answer("slash"))
        router.get("/K/{a}", answer("letter"))
        return router
    }()

    private func text(_ method: HTTPRequest.Method, _ target: String) async throws -> String {
        String(decoding: try await RouterTests.router.respond(to: Request(method, target)).body, as: UTF8.self)
    }

    @Test(
        "A path finds its route",
        arguments: [
            ("/", "root"), ("/?a=b", "root"), ("/users", "users"), ("/users?x", "users"), ("/users/me", "me"),
            ("/users/7", "user a=7"), ("/users/me2", "user a=me2"), ("/users/a%20b", "user a=a b"),
            ("/users/{a}", "user a={a}"), ("/users/7/keys/8", "key a=7 b=8"), ("/x/keys/8", "any key a=x b=8"),
            ("/x/keys/first", "first key a=x"), ("/replaced", "later"), ("/slash", "no slash"), ("/slash/", "slash"),
            ("/K/x", "letter a=x"), ("http://h/users", "users"),
            ("http://h", "root"),
        ].map { ($0.0.replacing("{a}", with: "%7Ba%7D"), $0.1) })
    func found(_ target: String, _ expected: String) async throws {
        #expect(try await text(.get, target) == expected)
    }

    @Test(
        "A path that almost matches a route is 404",
        arguments: [
            "/Users", "/users/", "//users", "/users//", "/users/7/", "/users//keys/8", "/users/7/keys",
            "/users/7/keys/",
            "/user", "/users/7/keys/8/9", "/nothing",
            // The Kelvin sign: Swift's strings take it for the letter.
            "/%E2%84%AA/x",
        ])
    func notFound(_ target: String) async throws {
        let error = await #expect(throws: HTTPError.self) { try await text(.get, target) }
        #expect(error?.status == .notFound)
        #expect(error?.message.contains(target) == false)
    }

    @Test("GET's handler serves HEAD, unless HEAD has its own")
    func head() async throws {
        #expect(try await text(.head, "/users") == "users")
        #expect(try await text(.head, "/heads") == "head of its own")
        #expect(try await text(.get, "/heads") == "heads")
    }

    @Test(
        "Another method is refused with Allow",
        arguments: [
            (HTTPRequest.Method.put, "/users", "GET, HEAD, OPTIONS, POST"),
            (.delete, "/users", "GET, HEAD, OPTIONS, POST"),
            (.post, "/users/7", "DELETE, GET, HEAD, OPTIONS"),
            (.trace, "/", "GET, HEAD, OPTIONS"),
        ])
    func methodNotAllowed(_ method: HTTPRequest.Method, _ target: String, _ allow: String) async throws {
        let error = await #expect(throws: HTTPError.self) { try await text(method, target) }
        #expect(error?.status == .methodNotAllowed)
        #expect(error?.headers[.allow] == allow)
    }

    @Test("Methods are case-sensitive (RFC 9110 section 9.1)")
    func methodCase() async throws {
        let method = try #require(HTTPRequest.Method("get"))
        let error = await #expect(throws: HTTPError.self) { try await text(method, "/users") }
        #expect(error?.status == .methodNotAllowed)
    }

    @Test("OPTIONS lists the methods of a path, and accepts *")
    func options() async throws {
        let response = try await RouterTests.router.respond(to: Request(.options, "/users/7"))
        #expect(response.status == .noContent)
        #expect(response.headers[.allow] == "DELETE, GET, HEAD, OPTIONS")
        #expect(try await RouterTests.router.respond(to: Request(.options, "*")).status == .noContent)
        await #expect(throws: HTTPError.self) {
            try await RouterTests.router.respond(to: Request(.options, "/nothing"))
        }
    }
}
