package import Foundation

/// One item of a protected store of the system, such as the Keychain.
///
/// The functions are those of the Keychain: an item is added once, and only an existing one can be updated.
package protocol ProtectedItem: Sendable {
    /// The item's data; nil if there is no item.
    func read() throws -> Data?
    /// Replaces the data of an existing item.
    /// - Returns: False if there is no item.
    func update(_ data: Data) throws -> Bool
    /// Makes the item.
    /// - Returns: False if there is one already.
    func add(_ data: Data) throws -> Bool
    /// Deletes the item. It is no error if there is none.
    func delete() throws
}

/// Stores tokens as JSON in a ``ProtectedItem``.
package struct TokenItem<Item: ProtectedItem>: TokenStore {
    private let item: Item

    /// A store of one item.
    package init(_ item: Item) { self.item = item }

    /// The last saved tokens; nil if there are none, or if another version of the app saved what this one cannot read.
    package func load() async throws -> Tokens? {
        try item.read().flatMap { try? JSONDecoder().decode(Tokens.self, from: $0) }
    }

    /// Replaces the stored tokens; nil deletes them.
    package func save(_ tokens: Tokens?) async throws {
        guard let tokens else { return try item.delete() }
        let data = try JSONEncoder().encode(tokens)
        // An app extension may add or delete the item between two calls.
        for _ in 0..<3 {
            if try item.update(data) { return }
            if try item.add(data) { return }
        }
        throw ItemChanged()
    }

    /// Other processes added and deleted the item again and again.
    private struct ItemChanged: Error {}
}
