/// The CAMARA APIs of one mobile operator, below its `apiRoot`.
public struct OperatorAPIs: Sendable, Hashable {
    /// The URL that the paths of the APIs follow, without a query.
    public let root: EndpointURL

    /// The APIs below a root; nil if the root has a query.
    public init?(root: EndpointURL) {
        guard !root.text.utf8.contains(UInt8(ascii: "?")) else { return nil }
        self.root = root
    }

    /// `GET`: the number of the device that the access token is for (Number Verification r3.2).
    var devicePhoneNumber: EndpointURL { root.appending(path: "/number-verification/v2/device-phone-number") }

    /// `POST`: whether a number is that of the device that the access token is for (Number Verification r3.2).
    var verify: EndpointURL { root.appending(path: "/number-verification/v2/verify") }

    /// `POST`: whether the SIM of a number was changed lately (SIM Swap r3.3).
    var checkSIMSwap: EndpointURL { root.appending(path: "/sim-swap/v2/check") }

    /// `POST`: the operator of a number (GSMA Open Gateway, Telco Finder).
    var searchOperator: EndpointURL { root.appending(path: "/telco-finder/v1/search") }
}

/// The scopes of the APIs' operations.
public enum OperatorScope {
    /// Of `GET /device-phone-number`.
    public static let devicePhoneNumber = "number-verification:device-phone-number:read"
    /// Of `POST /verify`.
    public static let verify = "number-verification:verify"
    /// Of `POST /check` of SIM Swap.
    public static let checkSIMSwap = "sim-swap:check"
}
