/// A way in which a phone proves its number.
public struct NumberMethod: Sendable, Hashable {
    /// What proves the number.
    public enum Kind: String, Sendable, Hashable {
        /// A digital credential of the operator, which the system asks the user for.
        case digitalCredential = "digital_credential"
        /// The SIM, with a TS.43 operator token.
        case operatorToken = "operator_token"
        /// The connection over the cellular network.
        case redirect
    }

    /// What proves the number.
    public let kind: Kind
    /// The name of the provider in the server's configuration.
    public let provider: String
    /// The name of the operator; nil if the provider has no operators.
    public let mobileOperator: String?
    /// What the phone needs, in the server's words, such as `sim` or `mobile_data`.
    public let requirement: String
}

/// The ways in which a phone can sign in.
public struct NumberMethods: Sendable, Hashable {
    /// Those by number, in the order to try.
    public let methods: [NumberMethod]
    /// The names of the other providers, for a phone whose number is no way to sign in.
    public let fallback: [String]
}

extension NumberMethods: Decodable {
    private enum CodingKeys: CodingKey {
        case methods, fallback
    }

    private struct Method: Decodable {
        let method: String
        let provider: String
        let requires: String
        let `operator`: String?
    }

    /// Decodes the server's JSON. Ways that this library does not know are left out.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        methods = try container.decode([Method].self, forKey: .methods).compactMap { method in
            NumberMethod.Kind(rawValue: method.method).map { kind in
                NumberMethod(
                    kind: kind, provider: method.provider, mobileOperator: method.operator,
                    requirement: method.requires)
            }
        }
        fallback = try container.decode([String].self, forKey: .fallback)
    }
}

/// The result of a sign-in by phone number.
public enum NumberSignIn: Sendable, Hashable {
    /// The user is signed in.
    case signedIn(Session, by: NumberMethod.Kind)
    /// The number is no way to sign in now. The error says why; the providers are those to use in its place.
    case otherWay(LatchkeyError, providers: [String])
}
