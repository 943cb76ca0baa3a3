package import OpenIDConnect
package import Primitives

/// Several authorization servers behind one provider, of a kind that a feature brings, such as mobile operators.
///
/// The feature chooses among them, asks them in its own way who a user is, and may send browsers to them for tasks of
/// its own.
package protocol ServerGroup: Sendable {
    var kind: ProviderKind { get }
    /// Those that sign users in, by their names in requests.
    var servers: [String: AuthorizationServer] { get }
    /// Others that are asked, by their names in references.
    var otherParties: [String: RelyingParty] { get }

    /// The server that a start by redirects is with. The start becomes what this server is asked for.
    /// - Throws: What is wrong with the start, or why no server can be chosen.
    func choose(
        for start: inout RedirectStart, _ correlationID: CorrelationID, in environment: Environment
    ) async throws(SignInError) -> SignInTarget

    /// Refuses a request that the servers do not take.
    func check(_ request: SignInRequest) throws(SignInError)

    /// Redeems the code or the token of a request, and says who the user is.
    func verifyUser(of run: SignInRun, at provider: ProviderMetadata) async throws(SignInError) -> VerifiedSignIn

    /// The error of an authorization response.
    func refusal(atAuthorization code: String) -> SignInError

    /// A pushed authorization request was refused.
    func refusal(ofPushedRequest error: OIDCError) -> SignInError

    /// Of the tasks that browsers are sent away for, as observers of failures know them.
    var taskFlow: FailedOperation.Flow { get }

    /// The query parameters that name a task to its frontend.
    func parameters(ofTask id: Secret) -> [(name: String, value: String)]

    /// Ends a task.
    /// - Parameter request: With the code that the browser brought, or what is wrong with the authorization response.
    /// - Returns: The query parameters that the frontend gets besides ``parameters(ofTask:)``.
    func finish(
        task id: Secret, with request: Result<SignInRequest, SignInError>, _ correlationID: CorrelationID,
        in environment: Environment
    ) async throws(SignInError) -> [(name: String, value: String)]

    /// Logs that a task has failed.
    func log(_ error: SignInError, ofTask correlationID: CorrelationID, in environment: Environment)
}
