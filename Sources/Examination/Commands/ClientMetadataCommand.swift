import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration

struct ClientMetadataCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client-metadata",
        abstract: "Prints what to register for a client at its provider, as JSON.",
        discussion: """
            Prints the client metadata of OpenID Connect Dynamic Client Registration: redirect URIs, keys' address, \
            algorithms and logout addresses, as the configuration has them. Sends no request, and prints no secret.

            Exit status: 0 if the metadata was printed, 64 for wrong options, such as an unknown provider or client, \
            and without public_url; 78 for an invalid configuration.
            """)

    @Option(
        help: ArgumentHelp(
            "The provider's name in the configuration, or zenkey; required if there are several providers.",
            valueName: "name"))
    var provider: String?

    @Option(help: ArgumentHelp("The client; required if the provider has several clients.", valueName: "id"))
    var clientID: String?

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let loaded = try options.load(for: .serve)
        let metadata = try await reportingFailure(exitCode: 64) {
            try ClientMetadata(of: clientID, at: provider, in: loaded.configuration, features: .ofProgram)
        }
        print(metadata.json, terminator: "")
    }
}
