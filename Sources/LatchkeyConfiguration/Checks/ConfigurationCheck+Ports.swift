extension ConfigurationCheck {
    /// Refuses a port that two listening sockets of one address would share: the server could not start.
    mutating func refuseSharedPorts() {
        let (http, tls, metrics) = (configuration.http, configuration.tls, configuration.metrics)
        let hostsOfTLS = tls.hosts.isEmpty ? http.hosts : tls.hosts
        var sockets: [(key: String, port: UInt16, hosts: [String])] = [("http.port", http.port, http.hosts)]
        if tls.isOn {
            sockets.append(("tls.port", tls.port, hostsOfTLS))
            if let port = tls.redirectPort { sockets.append(("tls.redirect_port", port, hostsOfTLS)) }
        }
        if let port = metrics.port { sockets.append(("metrics.port", port, metrics.hosts)) }
        for (index, socket) in sockets.enumerated() where socket.port != 0 {
            let other = sockets[..<index].first { $0.port == socket.port && overlap($0.hosts, socket.hosts) }
            if let other { refuse(socket.key, "is the port of \(other.key), on the same address", "give another one") }
        }
    }

    /// Whether two lists of addresses have one in common. A wildcard has all addresses of its family.
    private func overlap(_ left: [String], _ right: [String]) -> Bool {
        func covers(_ wildcard: String, _ address: String) -> Bool {
            switch wildcard {
            case "0.0.0.0": !address.contains(":")
            case "::": address.contains(":")
            default: false
            }
        }
        return left.contains { one in
            right.contains { other in one == other || covers(one, other) || covers(other, one) }
        }
    }
}
