import CarrierSimulator
import LatchkeyConfiguration
import Primitives

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
        let accounts =
            client + [
                ("issuer", .string(base + "/providers/google")), ("native_audiences", .texts([Demo.clientID])),
                ("redirect_uris", .texts([Demo.redirectURI] + Demo.pages)), ("client_types", Self.clientTypes),
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
            Self.configured(name, .object(of: members))
        }
    }
}
