import CarrierSimulator
import Primitives

/// Cases of transactions: context, level of assurance, recent authentication.
extension ConformanceCases {
    static let transactionGaps: [ConformanceCase] = [
        .ok("x-max_age:recent", .transaction),
        .rejected("x-max_age:absent", "auth_time", .transaction, .fault(.idTokenMissingAuthenticationTime)),
        .rejected("x-max_age:old", "auth_time", .transaction, .fault(.idTokenOldAuthentication)),
        .rejected("x-max_age:ahead", "auth_time", .transaction, .fault(.idTokenFutureAuthentication)),
        .rejected("x-max_age:text", "auth_time", .transaction, .claim("auth_time", "yesterday")),
        .rejected("x-max_age:null", "auth_time", .transaction, .claim("auth_time", .null)),
        .rejected("x-acr:transaction-lower", "acr", .transaction, .claim("acr", "a1")),
        .rejected("x-acr:transaction-missing", "acr", .transaction, .fault(.idTokenMissingACR)),
        .rejected("x-context:transaction-other", "context", .transaction, .fault(.idTokenOtherContext)),
        .rejected("x-context:transaction-missing", "context", .transaction, .fault(.idTokenMissingContext)),
        .rejected("x-nonce:transaction", "nonce", .transaction, .fault(.idTokenWrongNonce)),
        .rejected(
            "x-user:transaction-of-another", "", .transaction,
            .draft { $0.claims["sub"] = $0.claims["sub"]?.appending("-of-another") }),
    ]

    static let approveTwice: ConformanceCase.Steps = { run in [try await run.approveTransactionTwice()] }
}
