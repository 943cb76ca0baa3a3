import CarrierSimulator
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Primitives
import SignIn

/// What an app on a phone has besides: an account of the system, and two more ways to prove the phone number.
extension CarrierSimulator {
    /// Stands in for the provider of the system's accounts.
    static let accounts = StandIn.named("google")

    /// The providers as an administrator would configure them, without those that this build has no feature for.
    /// - Parameters:
    ///   - secret: Of the demonstration's client.
    ///   - origins: Of the pages that may ask for digital credentials, besides the demonstration's app.
    func phoneProviders(_ secret: Secret, origins: [String]) -> [Configuration.Provider] {
        let base = baseURL ?? ""
        let client: [(name: String, value: JSONValue?)] = [
            ("client_id", .string(Demo.clientID)), ("client_secret", .string(secret.exposed)),
        ]
        let types = Demo.clientTypes.sorted { $0.key < $1.key }.map { uri, types in
            (name: uri, value: JSONValue?.some(.texts(types.map(\.rawValue).sorted())))
        }
        let accounts =
            client + [
                ("issuer", .string(base + "/providers/google")), ("native_audiences", .texts([Demo.clientID])),
                ("redirect_uris", .texts([Demo.redirectURI] + Demo.pages)), ("client_types", .object(of: types)),
            ]
        let carriers =
            client + [
                ("kind", "aggregator"), ("issuer", .string(base + "/aggregator")),
                ("token_endpoint", .string(base + "/aggregator/token")),
                ("prepare_endpoint", .string(base + "/aggregator/prepare")),
                ("process_endpoint", .string(base + "/aggregator/process")),
                ("credential_origins", .texts(Demo.credentialOrigins + origins)), ("link_mccmnc", .texts(["311480"])),
                ("redirect_uris", .texts([Demo.appRedirectURI])), ("register_unknown_numbers", true),
                ("desktop", "on"),
            ]
        let firebase: [(name: String, value: JSONValue?)] = [
            ("kind", "firebase_pnv"), ("project_number", "123456789012"), ("project_id", .string(Demo.clientID)),
            ("jwks_uri", .string(firebaseKeysURL ?? "")), ("register_unknown_numbers", true),
        ]
        return [("google", accounts), ("carriers", carriers), ("firebase", firebase)].flatMap { name, members in
            let file: JSONValue = .object(of: [
                ("allow_loopback_http", true), ("providers", .object(of: [(name, .object(of: members))])),
            ])
            let loader = ConfigurationLoader(
                FeatureList.standard.settings,
                files: FileReader { (_, _) throws(FileReader.ReadError) in .init(bytes: Array(file.text.utf8)) })
            return (try? loader.load(file: "demo", environment: [:], purpose: .demo))?.configuration.providers ?? []
        }
    }
}
