import ArgumentParser
import CarrierSimulator
import CommandLineSupport

struct ProviderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider",
        abstract: "Runs a stand-in for a well-known provider on this machine, to sign in with it.",
        discussion: """
            Does what the provider's public documentation says of its requests and responses, on 127.0.0.1, and prints \
            a configuration of Latchkey with which its preset signs in there. The real provider gets no request. \
            Anyone who can reach the stand-in can sign in as any of its users. Without a name, lists the stand-ins.

            Exit status: 0 after SIGTERM or SIGINT, 1 if the stand-in cannot start, 64 for wrong options.
            """)

    @Argument(
        help: "The name of the provider's preset, such as google.",
        completion: .list(CarrierSimulator.StandIn.all.map(\.name))) var name: String?

    @Option(help: "The port to listen on; 0 lets the system choose.") var port: UInt16 = 8082

    @Option(help: ArgumentHelp("The public URL of Latchkey.", valueName: "url"))
    var publicURL = "http://127.0.0.1:8080"

    func run() async throws {
        guard let name else {
            for standIn in CarrierSimulator.StandIn.all { Console.print("\(standIn.name)  \(standIn.source)") }
            return
        }
        guard let standIn = CarrierSimulator.StandIn.named(name) else {
            throw ValidationError("There is no stand-in \(name). Run the command without a name for the list.")
        }
        let signals = TerminationSignals()
        let url = publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL
        let (client, credential) = standIn.client("latchkey", of: url)
        let simulator = CarrierSimulator(carriers: [standIn.carrier], clients: [client])
        let running = try simulator.start(port: port)
        let section = standIn.configuration(
            at: simulator.baseURL ?? "", clientID: client.id, credential: credential)
        Console.print(
            """
            # \(standIn.title), as in \(standIn.source)
            # Put this into Config/latchkey.yaml, run latchkey serve, and open \(url)/sign-in
            public_url: \(url)
            allow_loopback_http: true
            providers:
              \(standIn.name):
            \(section.map { "    \($0.key): \($0.value)" }.joined(separator: "\n"))
            """)
        _ = await signals.first()
        await running.shutdown()
    }
}
