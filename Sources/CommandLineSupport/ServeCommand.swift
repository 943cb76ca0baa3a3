import ArgumentParser
import CLatchkeySystem
import Glibc
import LatchkeyConfiguration
import LatchkeyService
import Logging

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serves sign-ins until SIGTERM or SIGINT.",
        discussion: """
            SIGTERM lets the requests in progress finish (http.timeouts.drain) and ends the server with 0; a second \
            SIGTERM ends it at once. SIGHUP reloads the configuration: log.level, the rate limits, the trusted proxies \
            and the certificates of tls take effect (certificates also when their files change); docs/configuration.md \
            marks these keys. Other changes take effect at the next start. An invalid configuration changes nothing.

            Exit status: 0 after SIGTERM or SIGINT, 1 if the server cannot start, 64 for wrong options, 78 for an \
            invalid configuration, with all its problems listed.
            """)

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var settings: SettingOptions

    func run() async throws {
        // Before the first secret is read.
        ProcessMemory.allowDumps(false)
        ProcessMemory.keepHeapsSmall()
        let loaded = try options.load(for: .serve, settings.parsed)
        if loaded.configuration.allowsMemoryDumps { ProcessMemory.allowDumps(true) }
        let signals = TerminationSignals()
        // Administrators may send SIGHUP as soon as the log says that the server listens.
        let hangups = SignalSource.signals(SIGHUP)
        let service = try await reportingFailure { try start(loaded) }
        let reloading = Task { for await _ in hangups { reload(service) } }
        defer { reloading.cancel() }

        let signal = await signals.first()
        service.logger.notice("stopping", metadata: ["signal": "\(signal)"])
        let closed = await service.shutdown(within: loaded.configuration.http.drainTimeout)
        if closed > 0 {
            service.logger.warning(
                "closed connections that were not finished in time",
                metadata: ["connections": .stringConvertible(closed)])
        }
        service.logger.notice("stopped")
        service.flushLog()
    }

    private func start(_ loaded: LoadedConfiguration) throws -> LatchkeyService {
        let service = try LatchkeyService(configuration: loaded.configuration, features: .ofProgram)
        for warning in loaded.warnings { service.logger.warning("\(warning)") }
        for address in service.listening(at: try service.start()) {
            service.logger.notice(
                "listening", metadata: ["url": "\(address.url)", "serves": "\(address.purpose.rawValue)"])
        }
        return service
    }

    /// Reads the configuration again. The service takes over what it can; a configuration with errors changes nothing.
    private func reload(_ service: LatchkeyService) {
        do throws(ConfigurationErrors) {
            service.reload(try options.read(for: .serve, settings.parsed))
        } catch {
            service.refuseReload(error)
        }
    }
}

/// The memory of the process: the C library's heaps, and who may read it. For the program of the server; a program that
/// embeds Latchkey decides for itself.
enum ProcessMemory {
    /// By default each thread that allocates concurrently gets its own heap, and memory freed in one heap cannot
    /// be used in another.
    private static let count: Int32 = 2

    /// Larger blocks, in bytes, are mapped separately and returned to the system when they are freed. This is also the
    /// initial default, but glibc raises it with the first such block that is freed; then growing tables leave holes.
    private static let largestBlock: Int32 = 128 * 1024

    /// Free bytes at the end of a heap that are kept for the next requests. With glibc's default, 128 KiB, nearly every
    /// sign-in would give memory back to the system and take it again: two system calls and the clearing of its pages.
    private static let keptFree: Int32 = 4 * 1024 * 1024

    /// Lets core dumps, and debuggers of the same user, read the memory, which holds secrets; or not.
    static func allowDumps(_ isAllowed: Bool) { _ = csystem_allow_dumps(isAllowed ? 1 : 0) }

    static func keepHeapsSmall() { csystem_limit_heaps(count, largestBlock, keptFree) }
}
