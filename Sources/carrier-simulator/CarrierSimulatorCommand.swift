import ArgumentParser
import CarrierSimulator

/// `carrier-simulator`: carriers to sign in with on this machine.
@main
struct CarrierSimulatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "carrier-simulator",
        abstract: "Mobile carriers to sign in with where there are none.",
        discussion: """
            Serves discovery, an authorization page, and each carrier's token, key and userinfo endpoints. Whoever \
            reaches it can sign in as anybody: it is for development and tests.

            FAULTS (for --fault, and for POST /carriers/{mccmnc}/faults while it runs):
            \(CarrierSimulator.Fault.allCases.map { "  \($0.rawValue): \($0.summary)" }.joined(separator: "\n"))
            """)

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 lets the system choose.")
    var port: UInt16 = 0

    @Option(
        name: .customLong("client"),
        help: ArgumentHelp(
            "A client of every carrier. Give it again with another redirect URI to register both.",
            valueName: "id:secret:redirect_uri"))
    var clients: [ClientArgument]

    @Option(
        name: .customLong("client-auth"),
        help: ArgumentHelp(
            "How a client proves who it is, if not by client_secret_basic: id:client_secret_post, or "
                + "id:private_key_jwt:file with a file of its public key in PEM.", valueName: "id:method"))
    var authentications: [AuthenticationArgument] = []

    @Option(
        name: .customLong("fault"),
        help: ArgumentHelp("A fault that a carrier has from the start; may stand often.", valueName: "mccmnc:name"))
    var faults: [FaultArgument] = []

    @Option(
        help: ArgumentHelp(
            "The address that others use, if it is not the one listened on, such as http://localhost:8081.",
            valueName: "url"))
    var baseURL: String?

    @Flag(help: "Permit a --host that other machines can reach. They too can then sign in as anybody.")
    var exposeToNetwork = false

    func validate() throws {
        guard Loopback.contains(host) || exposeToNetwork else {
            throw ValidationError(
                "\(host) may be reached by other machines, which could then sign in as anybody. "
                    + "If that is what you want, add --expose-to-network.")
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
        await signals.next()
        await running.shutdown()
    }

    private func report(_ running: CarrierSimulator.Running) {
        if !Loopback.contains(host) {
            Console.warn("Warning: other machines can reach this simulator and sign in as anybody.")
        }
        let simulator = running.simulator
        Console.say("discovery     \(simulator.discoveryURL ?? "")")
        Console.say("discovery UI  \(simulator.discoveryUIURL ?? "")")
        for carrier in simulator.carriers {
            Console.say("carrier       \(carrier.mccmnc) \(carrier.name) \(carrier.signingAlgorithm.rawValue)")
        }
        Console.say("a code        curl -s \(simulator.baseURL ?? "")/demo/codes -d mccmnc=310010")
    }
}
