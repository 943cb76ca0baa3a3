import Foundation
import LatchkeyClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An app with the package of the Swift client, which signs in at `latchkey-dev demo`; see Tests/SwiftClient/check.py.
@main
struct App {
    private struct Failure: Error {
        let text: String
    }

    private static let redirectURI = "com.example.app:/callback"

    /// Plays the phone, the provider of its account, and the mobile operators.
    let simulator: URL
    let latchkey: Latchkey

    /// The arguments are the URLs of the server and of the simulator.
    static func main() async throws {
        let urls = CommandLine.arguments.dropFirst().compactMap { URL(string: $0) }
        let latchkey = Latchkey(.init(baseURL: urls[0], clientID: "demo-app", apiKey: "demo-key"))
        let app = App(simulator: urls[1], latchkey: latchkey)
        try await app.accounts()
        try await app.numbers()
        print("ok")
    }

    private func check(_ isTrue: Bool, _ text: @autoclosure () -> String) throws {
        if !isTrue { throw Failure(text: text()) }
    }

    /// What the simulator responds with to a form.
    private func ask(_ path: String, _ form: String) async throws -> [String: Any] {
        var request = URLRequest(url: simulator.appendingPathComponent(path))
        request.httpMethod = "POST"
        request.httpBody = Data(form.utf8)
        let (data, _) = try await URLSession.shared.data(for: request)
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }

    /// How the phone is connected, and what its SIM is.
    private func connect(_ device: String) async throws { _ = try await ask("demo/device", "device=" + device) }

    private func accounts() async throws {
        let nonce = try await latchkey.nonce(at: "google")
        let answer = try await ask("providers/google/native-tokens", "user=jane&nonce=" + nonce.text)
        let token = NativeToken(idToken: answer["id_token"] as? String ?? "", nonce: nonce)
        let session = try await latchkey.signIn(with: token, at: "google")
        try check(session.isNewUser, "Google's user is known")
        try check(try await latchkey.me().profile[.name] == "Jane Doe", "the name of Google's user")
        try await latchkey.eraseAccount()
    }

    /// By which way a phone is signed in, and with which number; or why it is not.
    private func way(_ phone: Phone) async throws -> String {
        switch try await latchkey.signInByNumber(on: phone, to: Self.redirectURI) {
        case .signedIn(_, let method):
            return "\(method.rawValue) \(try await latchkey.me().profile[.phoneNumber] ?? "")"
        case .otherWay(let error, let providers):
            try check(providers.contains("google"), "providers \(providers)")
            return error.code.rawValue
        }
    }

    private func check(_ phone: Phone, on device: String, is expected: String) async throws {
        try await connect(device)
        let found = try await way(phone)
        try check(found == expected, "on \(device): \(found), not \(expected)")
    }

    /// iOS names no network: then the aggregator has a link for the phone. An app that knows the network has its
    /// operator.
    private func numbers() async throws {
        let network = SocketCellularNetwork()
        let unnamed = Phone(cellular: network)
        try await check(unnamed, on: "wifi", is: "authorization_stopped")
        try await check(unnamed, on: "cellular:harbor:otto", is: "digital_credential +12025550169")
        let isAnonymous = network.requests.allSatisfy { $0.fieldNames == SocketCellularNetwork.namesWithoutApp }
        try check(isAnonymous && network.requests.count == 2, "the visits: \(network.requests)")
        for (number, status) in [(nil, .verified), ("+12025550190", .mismatch)]
            as [(String?, PhoneVerification.Status)]
        {
            let verification = try await latchkey.verifyPhoneNumber(number, on: unnamed, to: Self.redirectURI)
            try check(verification.status == status, "the verification: \(verification)")
        }
        try await latchkey.eraseAccount()

        var named = Phone(mccmnc: "310010", cellular: network)
        try await check(named, on: "cellular:northwind:jane", is: "redirect +12025550123")
        named.operatorToken = { _ in
            try await ask("operators/northwind/operator-tokens", "user=ravi")["operator_token"] as? String
        }
        try await check(named, on: "wifi", is: "operator_token +12025550187")
        try await latchkey.eraseAccount()
    }
}
