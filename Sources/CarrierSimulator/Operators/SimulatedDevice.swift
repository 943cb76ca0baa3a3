import HTTPServer
import HTTPTypes

extension CarrierSimulator {
    /// How the simulated phone is connected, from which operators know who is behind an authorization request.
    public enum Device: Sendable, Hashable {
        /// By Wi-Fi only: no operator can authenticate it by its network.
        case wifi
        /// By a cellular network. Without an operator every operator has it on its network; without a user it is the
        /// operator's first subscriber's.
        case cellular(operator: String? = nil, user: String? = nil)

        /// `wifi`, `cellular`, or `cellular:operator:user`.
        public init?(_ text: String) {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            switch (parts.first, parts.count) {
            case ("wifi", 1): self = .wifi
            case ("cellular", 1): self = .cellular()
            case ("cellular", 3) where !parts.contains(""): self = .cellular(operator: parts[1], user: parts[2])
            default: return nil
            }
        }

        /// The device in the form that ``init(_:)`` reads.
        public var text: String {
            switch self {
            case .wifi: "wifi"
            case .cellular(let name?, let user?): "cellular:\(name):\(user)"
            case .cellular: "cellular"
            }
        }

        /// The field with which a request names the device that it comes from.
        public static let headerName = "X-Simulated-Device"
        /// The cookie with which a browser names its device.
        public static let cookieName = "simulated_device"

        static let field = HTTPField.Name(headerName) ?? .from

        /// The device that a request names by field or cookie; nil if it names none.
        static func named(by request: Request) -> Device? {
            if let text = request.headers[field] { return Device(text) }
            let prefix = cookieName + "="
            let cookies = request.headers[.cookie]?.split(separator: ";").map { $0.drop { $0 == " " } } ?? []
            return cookies.first { $0.hasPrefix(prefix) }.flatMap { Device(String($0.dropFirst(prefix.count))) }
        }
    }

    /// The device of requests that name none: at first on every operator's network, of its first subscriber.
    public var device: Device {
        get { withState { $0.device } }
        set { withState { $0.device = newValue } }
    }

    /// The subscriber whom an operator's network knows to be behind a request; nil if it is not of its network.
    func subscriber(behind request: Request, at site: CarrierSite) -> User? {
        guard case .cellular(let name, let user) = Device.named(by: request) ?? device,
            name ?? site.mccmnc == site.mccmnc
        else { return nil }
        return site.carrier.user(user).map(site.subscriber)
    }

    /// The phone number behind a request, by the network of any operator; nil over Wi-Fi.
    func number(behind request: Request) -> String? {
        let sites = operators.compactMap { one in withState { $0.site(one.mccmnc) } }
        return sites.compactMap { subscriber(behind: request, at: $0) }.first?.phoneNumber
    }
}
