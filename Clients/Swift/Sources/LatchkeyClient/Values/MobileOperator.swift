/// The mobile operator of a phone number. The default is for servers with one operator.
public struct MobileOperator: Sendable, Hashable {
    /// The operator's name in the server's configuration.
    public var name: String?
    /// A network code that the operator serves, such as that of the SIM.
    public var mccmnc: String?

    /// An operator by name, by network, or the only one of the server.
    public init(name: String? = nil, mccmnc: String? = nil) {
        self.name = name
        self.mccmnc = mccmnc
    }

    /// The request's fields.
    var fields: [String: String?] {
        var fields: [String: String] = [:]
        fields["operator"] = name
        fields["mccmnc"] = mccmnc
        return fields
    }
}
