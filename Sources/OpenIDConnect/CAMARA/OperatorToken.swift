import Primitives

/// A TS.43 temporary token, which an app gets from the operator by the SIM of the device.
enum OperatorToken {
    /// The token as the hint for a user (CAMARA Security and Interoperability Profile r4.2, section "Format of
    /// login_hint").
    static func hint(_ token: Secret) -> String { "operatortoken:" + token.exposed }
}

extension ProviderMetadata {
    /// How an operator token becomes tokens, as far as the operator's metadata tells: by a JWT, unless the operator
    /// lists grant types without it and has backchannel authentication in the mode poll.
    package var takesOperatorTokensByBackchannel: Bool {
        guard let backchannelAuthentication, backchannelAuthentication.mayDeliver(by: .poll) else { return false }
        return !(grantTypes?.contains(.jwtBearer) ?? true)
    }
}
