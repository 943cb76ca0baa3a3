import FoundationEssentials
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
        guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let system = try? String(contentsOfFile: "/proc/stat", encoding: .utf8),
            let line = system.split(separator: "\n").first(where: { $0.hasPrefix("btime ") }),
            let bootTime = Double(line.dropFirst(6))
        else { return nil }
        return ProcessFigures(
            stat: stat, bootTime: bootTime, ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))),
            pageBytes: Double(sysconf(Int32(_SC_PAGESIZE))))
    }

    package static func openDescriptors() -> Int? {
        // Without the descriptor of the folder.
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map { $0.count - 1 }
    }
}

extension ProcessFigures {
    /// The figures with Prometheus' standard names.
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
