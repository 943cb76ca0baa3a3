import ArgumentParser
import LatchkeyConfiguration
import LatchkeyService

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serves sign-ins until SIGTERM or SIGINT.",
        discussion: """
            SIGTERM lets the requests under way finish (http.timeouts.drain) and ends with 0; a second one ends at \
            once. SIGHUP reads the configuration again and takes over log.level, the limits on rates, the trusted proxies and \
            the certificates of tls (which are also taken over when their files change); docs/configuration.md marks the \
            keys. Other changes wait for the next start, and a bad configuration changes nothing.

            Ends with 0 after SIGTERM or SIGINT, 1 if it cannot start, 64 if the options are wrong, and 78, with all of \
            them listed, if the configuration has problems.
            """)

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let loaded = try options.load(for: .serve)
        let signals = TerminationSignals()
        let service = try await Start.service(loaded.configuration, warnings: loaded.warnings)
        let reload = ReloadSignal { [options] in
            do throws(ConfigurationErrors) {
                service.reload(try options.read(for: .serve))
            } catch {
                service.refuseReload(error)
            }
        }
        await Stop.service(service, after: await signals.first(), drain: loaded.configuration.http.timeouts.drain)
        withExtendedLifetime(reload) {}
    }
}
