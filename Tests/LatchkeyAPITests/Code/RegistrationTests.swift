import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// Registration where it is required.
@Suite("A registration")
struct RegistrationTests {
    private static var rules: TestRegistration {
        var rules = TestRegistration()
        rules.isRequired = true
        rules.requiredAttributes = [.init(.name), .init(.email)]
        rules.blockedEmailDomains = ["Blocked.example"]
        return rules
    }

    private func app() throws -> TestApp { try TestApp(registration: Self.rules) }

    /// Signs in as an unknown user; returns the handle.
    private func handle(_ app: TestApp, scope: String = "openid") async throws -> String {
        let body = SignInBody().code("CODE-\(app.carrier.tokenPosts)").with("scope", "\"\(scope)\"")
        let answer = try await app.signIn(body)
        #expect(answer.status == 403)
        return try #require(answer.text("state_key"))
    }

    @Test("is offered with a handle, the carrier's attributes, and the missing ones")
    func offer() async throws {
        let answer = try await app().signIn(SignInBody().with("scope", "\"openid name phone\""))
        #expect(answer.status == 403)
        #expect(answer.error == "user_not_registered")
        #expect(answer.integer("expires_in") == 600)
        #expect(answer.json?["missing"]?.array?.isEmpty == true)
        let attributes = try #require(answer.json?["zenkey_attributes"]?.object)
        #expect(attributes["sub"]?.string == answer.text("state_key"))
        #expect(attributes["name"]?.object?["given_name"]?.string == "Jane")
        #expect(attributes["email"]?.object?["value"]?.string == "jane@mail.example")
        #expect(attributes["phone"]?.object?["value"]?.string == "+13101234567")
        #expect(attributes["postal_code"]?.object?["value"]?.string == "90210-3456")
        let plain = try await app().signIn()
        #expect(plain.json?["missing"]?.array?.compactMap(\.string) == ["name", "email"])
    }

    @Test("creates the user and signs in; the form's values override the carrier's")
    func registers() async throws {
        let app = try app()
        let handle = try await handle(app, scope: "openid name")
        let answer = try await app.post(
            "/users",
            #"{"zenkey_sub":"\#(handle)","email":" jane@other.example ","username":"jane","password":"PASSWORD"}"#)
        #expect(answer.status == 201, "\(answer.body)")
        #expect(answer.json?["new_user"]?.bool == true)
        let me = try await app.me(try #require(answer.text("token")))
        #expect(me.text("email") == "jane@other.example")
        #expect(me.text("name") == "Jane Doe")
        #expect(me.text("username") == "jane")
        #expect(try await app.signIn(SignInBody().code("CODE-new")).status == 200)
    }

    @Test("can be a form, under the other path")
    func form() async throws {
        let app = try app()
        let handle = try await handle(app)
        let answer = try await app.send(
            .post, "/auth/register", [.contentType: "application/x-www-form-urlencoded"],
            body: "state_key=\(handle)&name=Jane+Doe&email=jane%40mail.example&phone_number=%2B1+(310)+123-4567")
        #expect(answer.status == 201, "\(answer.body)")
        #expect(try await app.me(try #require(answer.text("token"))).text("phone_number") == "+1 (310) 123-4567")
    }

    @Test("works once; a used, unknown or ten minutes old handle is refused")
    func handles() async throws {
        let app = try app()
        let handle = try await handle(app)
        let body = #"{"state_key":"\#(handle)","name":"Jane","email":"jane@mail.example"}"#
        app.clock.advance(bySeconds: 599)
        #expect(try await app.post("/users", body).status == 201)
        for handle in [handle, "unknown"] {
            let answer = try await app.post("/users", #"{"state_key":"\#(handle)"}"#)
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_token")
        }
        app.carrier.script { $0.subject = "SUBJECT-of-john" }
        let late = try await self.handle(app)
        app.clock.advance(bySeconds: 600)
        #expect(
            try await app.post("/users", #"{"state_key":"\#(late)","name":"J","email":"j@a.example"}"#).status == 401)
    }

    @Test("names every missing or malformed attribute, and keeps the handle for another try")
    func allProblems() async throws {
        let app = try app()
        let handle = try await handle(app)
        let long = String(repeating: "x", count: 256)
        let answer = try await app.post(
            "/users",
            #"""
            {"state_key":"\#(handle)","email":"jane@","phone":"call me","postal_code":"1;2","username":"a\u0007",
            "given_name":"\#(long)"}
            """#)
        #expect(answer.status == 400)
        for name in ["name is missing", "email is not", "phone is not", "postal_code is not", "username has control"] {
            #expect(answer.description.contains(name), "\(answer.description)")
        }
        #expect(answer.description.contains("given_name is longer than 255"))
        #expect(!answer.description.contains("email is missing"))
        let second = #"{"state_key":"\#(handle)","name":"Jane","email":"jane@mail.example"}"#
        #expect(try await app.post("/users", second).status == 201)
    }

    @Test("names the field that the client sent, under whichever name")
    func names() async throws {
        let app = try app()
        let handle = try await handle(app)
        for name in ["state_key", "zenkey_sub"] {
            let malformed = try await app.post("/users", #"{"\#(name)":7}"#)
            #expect(malformed.description == "\(name) must be a string.")
            let unknown = try await app.post("/users", #"{"\#(name)":"\#(String(repeating: "h", count: 43))"}"#)
            #expect(unknown.status == 401)
            #expect(unknown.description.hasPrefix("\(name) is unknown"), "\(unknown.description)")
        }
        for name in ["phone", "phone_number"] {
            for (value, problem) in [("7", "must be a string"), ("\"call me\"", "is not a phone number")] {
                let answer = try await app.post(
                    "/users", #"{"state_key":"\#(handle)","name":"J","email":"j@a.example","\#(name)":\#(value)}"#)
                #expect(answer.status == 400)
                #expect(answer.description == "\(name) \(problem).")
            }
        }
    }

    @Test("needs a handle, and string values")
    func wrongTypes() async throws {
        let answer = try await app().post("/users", #"{"name":5,"email":["a"]}"#)
        #expect(answer.status == 400)
        for name in ["state_key is missing", "name must be a string", "email must be a string"] {
            #expect(answer.description.contains(name))
        }
    }

    @Test("is refused for blocked domains and their subdomains, in any letter case, and for no others")
    func blockedDomains() async throws {
        let app = try app()
        let handle = try await handle(app)
        for address in ["a@blocked.example", "a@BLOCKED.EXAMPLE", "a@mail.blocked.example"] {
            let answer = try await app.post(
                "/users", #"{"state_key":"\#(handle)","name":"J","email":"\#(address)"}"#)
            #expect(answer.status == 403)
            #expect(answer.error == "email_domain_blocked")
        }
        let answer = try await app.post(
            "/users", #"{"state_key":"\#(handle)","name":"J","email":"a@notblocked.example"}"#)
        #expect(answer.status == 201)
    }

    /// Blocked: these names and those below them.
    static let internationalized = [
        "M\u{DC}nchen.example", "XN--KLN-SNA.example.", "stra\u{DF}e.example", "xn--p1ai",
    ]
    static let addressesThere: [(String, Bool)] = [
        ("a@m\u{FC}nchen.example", true), ("a@M\u{DC}NCHEN.example", true), ("a@mu\u{308}nchen.example", true),
        ("a@xn--mnchen-3ya.example", true), ("a@XN--MNCHEN-3YA.Example", true),
        ("a@mail.m\u{FC}nchen.example", true), ("a@mail.xn--mnchen-3ya.example", true),
        ("a@k\u{F6}ln.example", true), ("a@xn--kln-sna.example", true), ("a@mail.K\u{D6}LN.example", true),
        ("a@xn--strae-oqa.example", true), ("a@STRA\u{DF}E.example", true), ("a@b.\u{440}\u{444}", true),
        // A label that cannot be converted does not hide the ones after it.
        ("a@ab--\u{FC}.m\u{FC}nchen.example", true), ("a@xn--a.m\u{FC}nchen.example", true),
        ("a@munchen.example", false), ("a@strasse.example", false), ("a@xm\u{FC}nchen.example", false),
        ("a@xn--mnchen.example", false), ("a@m\u{FC}nchen.example.net", false), ("a@ab--\u{FC}.example", false),
    ]

    @Test("is refused for a blocked domain in either form of an internationalized name", arguments: addressesThere)
    func internationalizedDomains(_ address: String, _ isBlocked: Bool) async throws {
        var rules = Self.rules
        rules.blockedEmailDomains = Self.internationalized
        let app = try TestApp(registration: rules)
        let handle = try await handle(app)
        let answer = try await app.post(
            "/users", #"{"state_key":"\#(handle)","name":"J","email":"\#(address)"}"#)
        #expect(answer.status == (isBlocked ? 403 : 201), "\(answer.body)")
        #expect(answer.error == (isBlocked ? "email_domain_blocked" : nil))
    }

    @Test("refuses an address from the carrier that disguises its domain")
    func carriersAddress() async throws {
        let app = try app()
        for (number, email) in ["Jane <jane@blocked.example>", "jane@blocked\u{3002}example"].enumerated() {
            app.carrier.script {
                $0.userInfo = { _ throws(OutboundError) in
                    .json(#"{"sub":"SUBJECT-of-jane","name":"Jane","email":"\#(email)"}"#)
                }
            }
            let offer = try await app.signIn(
                SignInBody().code("CODE-\(number)").with("scope", "\"openid name email\""))
            #expect(offer.json?["missing"]?.array?.compactMap(\.string) == ["email"])
            let handle = try #require(offer.text("state_key"))
            let answer = try await app.post("/users", #"{"state_key":"\#(handle)"}"#)
            #expect(answer.status == 400)
            #expect(answer.description.contains("email is missing"))
        }
    }

    /// An address whose local part and labels are as long as they may be.
    private static func longAddress(bytes: Int) -> String {
        let label = String(repeating: "d", count: 63) + "."
        let beginning = String(repeating: "a", count: 64) + "@" + label + label
        return beginning + String(repeating: "d", count: bytes - beginning.utf8.count - 4) + ".org"
    }

    static let addresses: [(String, Bool)] = [
        ("jane@mail.example", true), ("j.d+x@a-b.example", true), ("jané@münchen.example", true),
        ("jané@mü_nchen.example", false),
        ("jane", false), ("@mail.example", false), ("jane@mail", false), ("jane@-a.example", false),
        ("jane@a..example", false), ("a b@mail.example", false), ("a@b@mail.example", false),
        (".a@mail.example", false), ("<a>@mail.example", false), ("jane@[127.0.0.1]", false),
        (String(repeating: "a", count: 64) + "@mail.example", true),
        (String(repeating: "a", count: 65) + "@mail.example", false),
        (longAddress(bytes: 254), true), (longAddress(bytes: 255), false),
        // Other spellings of a domain, which could reach a blocked one.
        ("a@\u{FF42}locked.example", false), ("a@blo\u{AD}cked.example", false), ("a@blocked\u{3002}example", false),
        ("a@x.blocked\u{FF0E}example", false), ("a@block\u{200D}ed.example", false),
        ("a@\u{1D5BB}locked.example", false), ("a@blocked.example.", false),
        ("a@STRA\u{DF}E.example", true), ("a@\u{3C0}\u{3C1}\u{3BF}\u{3C2}.example", true), ("a@\u{4F8B}.example", true),
    ]

    @Test("accepts valid e-mail addresses only", arguments: addresses)
    func emailAddresses(_ address: String, _ isSane: Bool) async throws {
        let app = try app()
        let handle = try await handle(app)
        let answer = try await app.post(
            "/users", #"{"state_key":"\#(handle)","name":"J","email":"\#(address)"}"#)
        #expect(answer.status == (isSane ? 201 : 400), "\(answer.body)")
    }
}
