/// What a connection has sent and not read the results of, and the statements that its server keeps prepared.
struct PostgresPipeline {
    struct Statement {
        enum Purpose { case begin, work, commit }

        let sql: String
        let purpose: Purpose
        /// Whether it only prepares the statement.
        let isPreparation: Bool
    }

    /// How many statements may wait for one that has a result: their results need memory.
    private static let limit = 256

    private(set) var unanswered: [Statement] = []
    /// Whether the server has responded since the transaction began.
    private(set) var hasResponded = false
    private var names: [String: String] = [:]
    /// How many names were given, also to statements that could not be prepared.
    private var nameCount = 0

    var isFull: Bool { unanswered.count >= Self.limit }

    /// The name of a prepared statement.
    func name(of sql: String) -> String? { names[sql] }

    mutating func makeName() -> String {
        defer { nameCount += 1 }
        return "s\(nameCount)"
    }

    mutating func noteSentPreparation(_ sql: String, as name: String, for purpose: Statement.Purpose) {
        unanswered.append(Statement(sql: sql, purpose: purpose, isPreparation: true))
        names[sql] = name
    }

    mutating func noteSent(_ sql: String, for purpose: Statement.Purpose) {
        if purpose == .begin { hasResponded = false }
        unanswered.append(Statement(sql: sql, purpose: purpose, isPreparation: false))
    }

    /// - Parameter failure: The place of the first statement that failed: the server has skipped those after it.
    mutating func noteAnswered(failure: Int?) {
        if let failure {
            for statement in unanswered[failure...] where statement.isPreparation { names[statement.sql] = nil }
        }
        unanswered.removeAll(keepingCapacity: true)
        hasResponded = true
    }
}
