/// What a page needs to know to play the parts beside the browser where all of it is simulated: the phone that gets a code
/// from its carrier, and the service that redeems a receipt.
public struct Demonstration: Sendable {
    /// Where the simulated carriers are, as an origin.
    public let carriersURL: String
    /// The API key that the app and the service have; known to everybody.
    public let apiKey: String

    public init(carriersURL: String, apiKey: String) {
        self.carriersURL = carriersURL
        self.apiKey = apiKey
    }
}
