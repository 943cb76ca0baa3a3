import ArgumentParser
import CarrierSimulator
import CommandLineSupport

struct CarrierCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carrier",
        abstract: "Runs simulated mobile carriers on this machine, for an app or a server in development.",
        discussion: """
            Serves discovery, an authorization page, and each carrier's token, key and userinfo endpoints on \
            127.0.0.1. Anyone who can reach the simulator can sign in as any of its users.

            Exit status: 0 after SIGTERM or SIGINT, 1 if the simulator cannot start, 64 for wrong options.

            FAULTS (for POST /carriers/{mccmnc}/faults while it runs):
            \(CarrierSimulator.Fault.allCases.map { "  \($0.name): \($0.summary)" }.joined(separator: "\n"))
            """)

    @Option(help: "The port to listen on; 0 lets the system choose.")
    var port: UInt16 = 0

    @Option(
        name: .customLong("client"),
        help: ArgumentHelp(
            "A client of every carrier. Give it again with another redirect URI to register both.",
            valueName: "id:secret:redirect_uri")) var clients: [ClientArgument]

    @Option(
        help: ArgumentHelp(
            "The URL of the simulator for others, if it is not the address it listens on, such as "
                + "http://localhost:8081.", valueName: "url")) var baseURL: String?

    func validate() throws {
        guard !clients.isEmpty else { throw ValidationError("Name at least one --client.") }
    }

    func run() async throws {
        let signals = TerminationSignals()
        let simulator = CarrierSimulator(clients: ClientArgument.merged(clients))
        simulator.baseURL = baseURL
        let running = try simulator.start(port: port)
        Console.print("discovery     \(simulator.discoveryURL ?? "")")
        Console.print("discovery UI  \(simulator.discoveryUIURL ?? "")")
        for carrier in simulator.carriers {
            Console.print("carrier       \(carrier.mccmnc) \(carrier.name) \(carrier.signingAlgorithm.rawValue)")
        }
        Console.print("aggregator    \(simulator.aggregatorURL ?? "")")
        Console.print("a code        curl -s \(simulator.baseURL ?? "")/demo/codes -d mccmnc=310010")
        try await simulator.prepareKeys()
        _ = await signals.first()
        await running.shutdown()
    }
}
