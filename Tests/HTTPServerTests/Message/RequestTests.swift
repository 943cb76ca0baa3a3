import HTTPServer
import HTTPTypes
import Testing

@Suite("Request")
struct RequestTests {
    @Test("Fields are found by name without regard to case")
    func fields() throws {
        let request = try Request(.get, "/", headers: [.accept: "text/html", .userAgent: "x"])
        #expect(request.headers[.accept] == "text/html")
        #expect(request.headers[.userAgent] == "x")
        #expect(request.headers[.host] == "localhost")
        #expect(request.headers[.cookie] == nil)
    }

    @Test("A repeated field has no single value")
    func repeated() throws {
        var headers = HTTPFields()
        headers.append(.init(name: .authorization, value: "Bearer a"))
        headers.append(.init(name: .authorization, value: "Bearer b"))
        let request = try Request(.get, "/", headers: headers)
        #expect(request.headers[.authorization] == nil)
        #expect(request.headers.values(of: .authorization) == ["Bearer a", "Bearer b"])
        #expect(request.headers.count(of: .authorization) == 2)
    }

    @Test(
        "A malformed request cannot be made",
        arguments: ["", "a", "/a b", "/%zz", "/\r\nX: y"])
    func impossible(_ target: String) {
        #expect(throws: (any Error).self) { try Request(.get, target) }
    }
}
