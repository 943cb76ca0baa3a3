extension Settings {
    static let metrics: [Setting<Configuration>] = [
        Setting(
            "metrics.allowed_addresses", .list(of: .addressRange, "a list of addresses and ranges"),
            \.metrics.allowedAddresses,
            "Who may read /metrics where the API is; a request that came through a proxy counts as whoever it asks for."
        ),
        Setting(
            "metrics.port", .optional(.port), \.metrics.port,
            "A port of its own for /metrics, which is not served where the API is then; whoever reaches it may read them."
        ),
        Setting(
            "metrics.host", .list(of: .bindAddress, "an address or a list of addresses"), \.metrics.hosts,
            "The address or addresses to listen on at that port."),
    ]
}
