import Glibc

/// The resources of this process, from /proc.
package struct ProcessFigures: Sendable, Hashable {
    /// User and system time of all threads.
    package let cpuSeconds: Double
    package let residentBytes: Double
    package let virtualBytes: Double
    package let threads: Double
    /// Since 1970.
    package let startTime: Double

    /// - Parameters:
    ///   - stat: The contents of /proc/self/stat (proc_pid_stat(5)).
    ///   - bootTime: When the system booted, in seconds since 1970.
    package init?(stat: String, bootTime: Double, ticksPerSecond: Double, pageBytes: Double) {
        // The second field is the program's name, which may hold parentheses.
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: end)...].split(whereSeparator: \.isWhitespace)
        // The first of these is the manual's third field.
        func number(_ field: Int) -> Double? { fields.count > field - 3 ? Double(fields[field - 3]) : nil }
        guard let user = number(14), let system = number(15), let threads = number(20), let start = number(22),
            let virtual = number(23), let resident = number(24), ticksPerSecond > 0
        else { return nil }
        cpuSeconds = (user + system) / ticksPerSecond
        residentBytes = resident * pageBytes
        virtualBytes = virtual
        self.threads = threads
        startTime = bootTime + start / ticksPerSecond
    }

    package static func now() -> ProcessFigures? {
        guard let stat = read("/proc/self/stat"), let system = read("/proc/stat"),
            let line = system.split(separator: "\n").first(where: { $0.hasPrefix("btime ") }),
            let bootTime = Double(line.dropFirst(6))
        else { return nil }
        return ProcessFigures(
            stat: stat, bootTime: bootTime, ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))),
            pageBytes: Double(sysconf(Int32(_SC_PAGESIZE))))
    }

    package static func openDescriptors() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Without `.`, `..` and the descriptor of the folder.
        return max(0, count - 3)
    }

    private static func read(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while bytes.count < 1 << 20 {
            let count = fread(&buffer, 1, buffer.count, file)
            guard count > 0 else { break }
            bytes.append(contentsOf: buffer[..<count])
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension ProcessFigures {
    /// The figures with Prometheus' standard names.
    /// - Parameter maximumDescriptors: The limit of open file descriptors.
    package static func metrics(maximumDescriptors: Int) -> [any Metric] {
        [
            gauge("process_resident_memory_bytes", "Resident memory") { now()?.residentBytes },
            gauge("process_virtual_memory_bytes", "Virtual memory") { now()?.virtualBytes },
            gauge("process_threads", "Threads") { now()?.threads },
            gauge("process_open_fds", "Open file descriptors") { openDescriptors().map(Double.init) },
            gauge("process_max_fds", "Limit of open file descriptors") {
                maximumDescriptors > 0 ? Double(maximumDescriptors) : nil
            },
            SampledMetric("process_cpu_seconds_total", .counter, "User and system CPU time of the process.") {
                now()?.cpuSeconds
            },
            SampledMetric("process_start_time_seconds", .gauge, "Start time of the process, in seconds since 1970.") {
                now()?.startTime
            },
        ]
    }

    private static func gauge(_ name: String, _ what: String, _ read: @escaping @Sendable () -> Double?) -> any Metric {
        SampledMetric(name, .gauge, what + " of the process.", read)
    }
}
