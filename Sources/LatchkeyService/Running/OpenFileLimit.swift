import Glibc

/// The most file descriptors of the process; each connection needs one.
enum OpenFileLimit {
    /// Raises the soft limit to the hard limit, which needs no privilege, and returns it.
    static func raise() -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return 0 }
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            _ = setrlimit(resource, &limit)
        }
        return Int(clamping: limit.rlim_cur)
    }
}
