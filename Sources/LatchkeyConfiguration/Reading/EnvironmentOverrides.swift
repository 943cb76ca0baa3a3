struct EnvironmentOverrides {
    /// By setting. An empty variable counts as not set.
    private(set) var values: [String: ConfigurationNode] = [:]
    /// The settings whose variable is set, but whose value cannot be read.
    private(set) var broken: Set<String> = []

    /// Reads the variables that begin with `LATCHKEY_`. Reports a setting that is given by several of them, and warns
    /// of former names, of variables that are not settings, and of those that Kubernetes made.
    init(_ environment: [String: String], _ settings: Settings, _ context: inout ReadingContext) {
        var ours = environment.filter { $0.key.hasPrefix(ConfigurationReference.environmentPrefix) }
        let links = ours.filter { Self.isServiceLink($0.key, $0.value) }.keys.sorted()
        for link in links { ours[link] = nil }
        if let first = links.first {
            context.warnings.add(
                first, .environment(first),
                "is ignored, with all others that Kubernetes made for a service",
                "set enableServiceLinks: false for the pod")
        }
        var known: Set<String> = []
        var formerNames: Set<String> = []
        for setting in settings.all {
            let present = ConfigurationReference.environmentName(of: setting.name)
            let variables = setting.names.flatMap { name -> [Variable] in
                let variable = ConfigurationReference.environmentName(of: name)
                let isFormer = name == setting.formerName
                guard !isFormer || variable != present else { return [] }
                let value = Variable(name: variable, isFile: false, isFormer: isFormer)
                let file = Variable(
                    name: variable + ConfigurationReference.environmentFileSuffix, isFile: true, isFormer: isFormer)
                return setting.isSecret ? [value, file] : [value]
            }
            let isReplaced = setting.successor != nil
            known.formUnion(variables.lazy.filter { !$0.isFormer && !isReplaced }.map(\.name))
            formerNames.formUnion(variables.lazy.filter { $0.isFormer || isReplaced }.map(\.name))
            context.beneath("." + setting.name) { context in
                read(setting.name, variables.filter { ours[$0.name]?.isEmpty == false }, ours, &context)
            }
        }
        for name in ours.keys.sorted() where !known.contains(name) && !formerNames.contains(name) {
            Self.warn(of: name, known, &context)
        }
    }

    /// Whether a variable is one of those that Kubernetes and Docker make for a service whose name begins with
    /// `latchkey`: `LATCHKEY_HTTP_PORT=tcp://10.0.0.1:8080`, `LATCHKEY_SERVICE_HOST`, `LATCHKEY_PORT_8080_TCP_ADDR`.
    private static func isServiceLink(_ name: String, _ value: String) -> Bool {
        let protocols = ["tcp", "udp", "sctp"]
        return name.hasSuffix("_PORT") && protocols.contains { value.hasPrefix($0 + "://") }
            || ["_SERVICE_HOST", "_SERVICE_PORT"].contains(where: name.contains)
            || name.contains("_PORT_") && protocols.contains { name.contains("_\($0.uppercased())") }
    }

    private struct Variable {
        let name: String
        let isFile: Bool
        let isFormer: Bool
    }

    /// - Parameter given: The variables of the setting that are not empty.
    private mutating func read(
        _ key: String, _ given: [Variable], _ environment: [String: String], _ context: inout ReadingContext
    ) {
        guard let variable = given.first, let text = environment[variable.name] else { return }
        if given.count > 1 {
            broken.insert(key)
            return context.refuse(.environment(variable.name), "\(given[1].name) is set too", "set one of them")
        }
        if variable.isFormer {
            let name = ConfigurationReference.environmentName(of: key)
            context.warnings.add(
                variable.name, .environment(variable.name), "is the former name of a variable",
                "set \(variable.isFile ? name + ConfigurationReference.environmentFileSuffix : name)")
        }
        let node = ConfigurationNode(value: .text(text), origin: .environment(variable.name))
        if let value = variable.isFile ? context.secretFile(node) : node {
            values[key] = value
        } else {
            broken.insert(key)
        }
    }

    private static func warn(of name: String, _ known: Set<String>, _ context: inout ReadingContext) {
        guard !context.warnings.isFull else { return }
        let meant = Suggestion.nearest(to: name, among: known.sorted()).map { "did you mean \($0)?" }
        context.warnings.add(
            Printable.line(name), .environment(name), "there is no such setting, so it has no effect",
            meant ?? "remove it")
    }
}
