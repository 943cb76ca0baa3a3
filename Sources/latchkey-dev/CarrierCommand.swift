import ArgumentParser
import CarrierSimulator
import CommandLineSupport

struct CarrierCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carrier",
        abstract: "Runs simulated mobile carriers on this machine, for an app or a server in development.",
        discussion: """
            Serves discovery, an authorization page, and each carrier's token, key and userinfo endpoints. Anyone who \
            can reach the simulator can sign in as any of its users.

            Exit status: 0 after SIGTERM or SIGINT, 1 if the simulator cannot start, 64 for wrong options.

            FAULTS (for --fault, and for POST /carriers/{mccmnc}/faults while it runs):
            \(CarrierSimulator.Fault.allCases.map { "  \($0.name): \($0.summary)" }.joined(separator: "\n"))
            """)

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 lets the system choose.")
    var port: UInt16 = 0

    @Option(
        name: .customLong("client"),
        help: ArgumentHelp(
            "A client of every carrier. Give it again with another redirect URI to register both.",
            valueName: "id:secret:redirect_uri")) var clients: [ClientArgument]

    @Option(
        name: .customLong("client-auth"),
        help: ArgumentHelp(
            "How a client authenticates, if not with client_secret_basic: id:client_secret_post, or "
                + "id:private_key_jwt:file with a PEM file of its public key.", valueName: "id:method"))
    var authentications: [AuthenticationArgument] = []

    @Option(
        name: .customLong("fault"),
        help: ArgumentHelp("A fault that a carrier has from the start; may be repeated.", valueName: "mccmnc:name"))
    var faults: [FaultArgument] = []

    @Option(
        help: ArgumentHelp(
            "The URL of the simulator for others, if it is not the address it listens on, such as "
                + "http://localhost:8081.", valueName: "url")) var baseURL: String?

    @Flag(help: "Allow a --host that other machines can reach. They too can then sign in as any user.")
    var exposeToNetwork = false

    func validate() throws {
        guard Loopback.contains(host) || exposeToNetwork else {
            throw ValidationError(
                "other machines may reach \(host), and could then sign in as any user; to allow it, add "
                    + "--expose-to-network")
        }
        guard !clients.isEmpty else { throw ValidationError("Name at least one --client.") }
    }

    func run() async throws {
        let signals = TerminationSignals()
        var clients = ClientArgument.merged(clients)
        for argument in authentications {
            guard let index = clients.firstIndex(where: { $0.id == argument.clientID })
            else { throw ValidationError("There is no client \(argument.clientID).") }
            clients[index].authentication = argument.authentication
        }
        let simulator = CarrierSimulator(clients: clients)
        for fault in faults {
            guard simulator.carriers.contains(where: { $0.mccmnc == fault.mccmnc })
            else { throw ValidationError("There is no carrier with the mccmnc \(fault.mccmnc).") }
            simulator.update(fault.mccmnc) { _ = $0.faults.insert(fault.fault) }
        }
        simulator.baseURL = baseURL
        let running = try simulator.start(host: host, port: port)
        report(running)
        try await simulator.prepareKeys()
        _ = await signals.first()
        await running.shutdown()
    }

    private func report(_ running: CarrierSimulator.Running) {
        if !Loopback.contains(host) {
            Console.warn("Warning: other machines can reach this simulator and sign in as any user.")
        }
        let simulator = running.simulator
        Console.print("discovery     \(simulator.discoveryURL ?? "")")
        Console.print("discovery UI  \(simulator.discoveryUIURL ?? "")")
        for carrier in simulator.carriers {
            Console.print("carrier       \(carrier.mccmnc) \(carrier.name) \(carrier.signingAlgorithm.rawValue)")
        }
        Console.print("a code        curl -s \(simulator.baseURL ?? "")/demo/codes -d mccmnc=310010")
    }
}
