package import ArgumentParser
package import LatchkeyConfiguration
package import LatchkeyService

/// What an administrator asks before users depend on it, or after a sign-in failed (docs/operations.md): `latchkey
/// doctor`, `client-metadata` and `explain-token`. It is no part of the running server.
package struct ExaminationFeature: Feature {
    package init?(_ settings: NoSettings, in context: FeatureContext) { nil }

    package static var commands: [any ParsableCommand.Type] {
        [DoctorCommand.self, ClientMetadataCommand.self, ExplainTokenCommand.self]
    }
}
