import CarrierSimulator
import Foundation
import Primitives
import TestSupport
import Testing

/// Digital credentials that a simulated operator redeems, with the settings of an administrator.
@Suite("Digital credentials at a mobile operator, over sockets")
struct OperatorCredentialFlowTests {
    private static let origin = "https://shop.example"
    private static let settings = [
        "digital_credential:", "  origins: ['\(origin)']", "  certificate_file: credentials.pem",
        "  certificate_key_file: credentials.key", "  consent: Sign in to the shop",
        #"  encryption_key: '{"kty": "EC", "crv": "P-256", "kid": "k-1","#,
        #"    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#,
        #"    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}'"#,
    ]

    private func start(_ walk: NumberWalk, by app: App? = nil) async throws -> JSONObject {
        let started = try await (app ?? walk.harness.app).post(
            "/auth/number/start", ["method": "digital_credential", "operator": "northwind"])
        try #require(started.status == 201, "\(started.response)")
        return try #require((try? JSONValue(parsing: started.response.body))?.object)
    }

    private func confirm(
        _ walk: NumberWalk, _ started: JSONObject, of number: String = NumberWalk.number,
        faults: Set<CarrierSimulator.CredentialFault> = []
    ) async throws -> App.Answer {
        let (id, request) = (try #require(started["sign_in_id"]?.string), try #require(started["request"]?.object))
        // The wallet answers only what says who asks, and for whom.
        let text = try await walk.simulator.presentCredential(for: request, to: Self.origin, of: number, faults: faults)
        return try await walk.harness.app.post("/auth/number/start/\(id)/confirmation", ["vp_token": text])
    }

    @Test("After a kill no acknowledged session is lost, and no credential is accepted twice")
    func killed() async throws {
        try await NumberWalk.with(ofNorthwind: Self.settings) { walk in
            let directory = try TemporaryDirectory(
                files: NumberWalk.files(walk.simulator, ofNorthwind: Self.settings))
            let environment = [
                "LATCHKEY_HTTP_PORT": "0", "LATCHKEY_DATABASE_URL": "sqlite:///\(directory.file("killed.db"))",
                "LATCHKEY_API_KEYS": "test-key",
            ]
            let arguments = ["serve", "--config", directory.file("latchkey.yaml")]
            let process = try LatchkeyProcess(arguments, environment: environment, directory: directory.path)
            let app = App(port: try await process.port(after: "listening"))
            var confirmations: [(path: String, fields: [String: String])] = []
            for _ in 0..<40 {
                let started = try await start(walk, by: app)
                let id = try #require(started["sign_in_id"]?.string)
                let request = try #require(started["request"]?.object)
                let text = try await walk.simulator.presentCredential(
                    for: request, to: Self.origin, of: NumberWalk.number)
                confirmations.append(("/auth/number/start/\(id)/confirmation", ["vp_token": text]))
            }

            // Four apps sign in at full speed; the process is killed after 10 responses.
            let acknowledged = await withTaskGroup(of: [Int: String].self) { [confirmations] group in
                let answers = CallCounter()
                for worker in 0..<4 {
                    group.addTask {
                        var sessions: [Int: String] = [:]
                        for index in stride(from: worker, to: confirmations.count, by: 4) {
                            let (path, fields) = confirmations[index]
                            guard let session = try? await app.post(path, fields).token else { break }
                            sessions[index] = session
                            if answers.increment() == 10 { process.send(SIGKILL) }
                        }
                        return sessions
                    }
                }
                return await group.reduce(into: [:]) { $0.merge($1) { $1 } }
            }
            #expect(acknowledged.count >= 10, "\(process.said)")
            process.send(SIGKILL)
            #expect(await process.ending().status == SIGKILL)

            let again = try LatchkeyProcess(arguments, environment: environment, directory: directory.path)
            let reborn = App(port: try await again.port(after: "listening"))
            for (index, confirmation) in confirmations.enumerated() {
                if let session = acknowledged[index] {
                    #expect(try await reborn.me(session).status == 200, "\(index)")
                } else {
                    // Accepted now, unless the response was lost in the kill.
                    _ = try await reborn.post(confirmation.path, confirmation.fields)
                }
                #expect(try await reborn.post(confirmation.path, confirmation.fields).token == nil, "\(index)")
            }
            again.send(SIGTERM)
            #expect(await again.ending().status == 0)
        }
    }

    @Test("A credential signs in the user of the operator's other ways, by a JWT or by CIBA", arguments: [true, false])
    func signIn(byJWT: Bool) async throws {
        try await NumberWalk.with(simSwap: "{max_age_hours: 72}", ofNorthwind: Self.settings) { walk in
            walk.simulator.update("northwind") { $0.operatorProfile?.acceptsJWTBearer = byJWT }
            let answer = try await confirm(walk, try await start(walk))
            let session = try #require(answer.token, "\(answer.response)")
            let me = try await walk.harness.app.me(session).json
            #expect(me["phone_number"]?.string == NumberWalk.number && me["phone_number_verified"]?.bool == true)
            #expect(walk.count(.backchannelAuthentication) == (byJWT ? 0 : 1) && walk.count(.simSwapCheck) == 1)
            let other = try await walk.signIn()
            #expect(try await walk.me(other, "user_id") == me["user_id"])
        }
    }

    @Test("A wallet's response that is not for this request, or of somebody else's customer, signs nobody in")
    func refused() async throws {
        try await NumberWalk.with(ofNorthwind: Self.settings) { walk in
            for fault in CarrierSimulator.CredentialFault.allCases {
                let answer = try await confirm(walk, try await start(walk), faults: [fault])
                #expect(answer.status == 401 && answer.error == "credential_invalid", "\(answer.response)")
            }
            #expect(walk.count(.token) == 0)
            let stranger = try await confirm(walk, try await start(walk), of: "+12025559999")
            #expect(stranger.error == "invalid_grant", "\(stranger.response)")
        }
    }
}
