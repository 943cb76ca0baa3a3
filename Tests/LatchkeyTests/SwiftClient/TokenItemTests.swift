import Foundation
import LatchkeyClient
import Synchronization
import Testing

/// An item of a Keychain that holds what a test puts into it.
private final class MemoryItem: ProtectedItem {
    struct Locked: Error {}

    struct State {
        var data: Data?
        var isLocked = false
        /// What other processes do to the item before each of the next calls.
        var others: [Data?] = []
    }

    private let state: Mutex<State>

    init(_ state: State = State()) { self.state = Mutex(state) }

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    private func call<Result>(_ body: (inout State) -> Result) throws -> Result where Result: Sendable {
        try state.withLock { state in
            guard !state.isLocked else { throw Locked() }
            if !state.others.isEmpty { state.data = state.others.removeFirst() }
            return body(&state)
        }
    }

    func read() throws -> Data? { try call { $0.data } }

    func update(_ data: Data) throws -> Bool {
        try call { state in
            guard state.data != nil else { return false }
            state.data = data
            return true
        }
    }

    func add(_ data: Data) throws -> Bool {
        try call { state in
            guard state.data == nil else { return false }
            state.data = data
            return true
        }
    }

    func delete() throws { try call { $0.data = nil } }
}

/// What the Keychain store does beside its calls of the system.
struct TokenItemTests {
    private func tokens(_ name: String) -> Tokens {
        Tokens(token: name, refreshToken: name + "-refresh", expiresAt: Date(timeIntervalSince1970: 1_800_000_000))
    }

    @Test("Tokens are saved, replaced and deleted, and another instance of the app reads them")
    func saved() async throws {
        let item = MemoryItem()
        let store = TokenItem(item)
        #expect(try await store.load() == nil)
        try await store.save(nil)
        for name in ["first", "second"] {
            try await store.save(tokens(name))
            #expect(try await TokenItem(item).load() == tokens(name))
        }
        try await store.save(nil)
        #expect(try await store.load() == nil)
    }

    @Test("What cannot be read as tokens is no session, and is replaced")
    func unreadable() async throws {
        let store = TokenItem(MemoryItem(.init(data: Data("of another version".utf8))))
        #expect(try await store.load() == nil)
        try await store.save(tokens("new"))
        #expect(try await store.load() == tokens("new"))
    }

    @Test("An item that another process adds or deletes between two calls is saved nevertheless")
    func together() async throws {
        let other = Data("{}".utf8)
        for others in [[nil, other], [nil, other, nil, nil]] as [[Data?]] {
            let store = TokenItem(MemoryItem(.init(others: others)))
            try await store.save(tokens("own"))
            #expect(try await store.load() == tokens("own"))
        }
        let store = TokenItem(MemoryItem(.init(others: [nil, other, nil, other, nil, other])))
        await #expect(throws: (any Error).self) { try await store.save(tokens("own")) }
    }

    @Test("A locked Keychain is a failure of the store, and not the end of the session")
    func locked() async throws {
        let item = MemoryItem()
        let store = TokenItem(item)
        try await store.save(tokens("own"))
        item.set { $0.isLocked = true }
        let url = try #require(URL(string: "http://127.0.0.1:1"))
        let latchkey = Latchkey(.init(baseURL: url, clientID: "c", apiKey: "k"), tokens: store)
        let error = try await failure { () async throws(LatchkeyError) in try await latchkey.isSignedIn() }
        #expect(error.code == .storeFailure)
        item.set { $0.isLocked = false }
        #expect(try await latchkey.isSignedIn())
    }
}
