import CarrierSimulator
import Crypto
import HTTPServer
import HTTPTypes
import Primitives
import Testing

@Suite("Firebase Phone Number Verification")
struct FirebaseEndpointTests {
    private let carriers = OperatorHarness().carriers

    @Test("A token is for both names of the project, its subject is the number, and the published key has signed it")
    func token() async throws {
        let form = [
            ("phone_number", "+12025550123"), ("project_number", "123"), ("project_id", "shop-1"), ("nonce", "N-1"),
        ]
        let answer = try await carriers.post("/firebase/tokens", form).object()
        #expect(answer["expires_in"]?.integer == 3600)
        let parts = try #require(answer["token"]?.string).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        func object(_ part: String) throws -> JSONObject {
            try #require(JSONValue(parsing: Base64URL.decode(part) ?? []).object)
        }
        let (header, claims) = (try object(parts[0]), try object(parts[1]))
        let projects = "https://fpnv.googleapis.com/projects/"
        #expect(header["alg"]?.string == "ES256" && header["typ"]?.string == "JWT")
        #expect(claims["iss"]?.string == projects + "123" && claims["sub"]?.string == "+12025550123")
        #expect(claims["aud"]?.array?.compactMap(\.string) == [projects + "123", projects + "shop-1"])
        #expect(claims["nonce"]?.string == "N-1")
        let lifetime = (claims["exp"]?.integer ?? 0) - (claims["iat"]?.integer ?? 0)
        #expect(lifetime == 3600)
        let keys = try await carriers.get("/firebase/v1beta/jwks").object()["keys"]?.array ?? []
        let key = try #require(keys.compactMap(\.object).first { $0["kid"]?.string == header["kid"]?.string })
        let point = ["x", "y"].flatMap { key[$0]?.string.flatMap { Base64URL.decode($0) } ?? [] }
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: Base64URL.decode(parts[2]) ?? [])
        #expect(
            try P256.Signing.PublicKey(rawRepresentation: point).isValidSignature(
                signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test("A token needs a number and a project", arguments: ["phone_number", "project_number", "project_id"])
    func incomplete(_ missing: String) async throws {
        let form = ["phone_number", "project_number", "project_id"].filter { $0 != missing }.map { ($0, "1") }
        #expect(try await carriers.post("/firebase/tokens", form).status == .badRequest)
    }
}
