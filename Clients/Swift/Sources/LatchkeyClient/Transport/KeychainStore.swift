#if canImport(Security)
    import Foundation
    import Security

    /// Stores the tokens of the signed-in user in the Keychain of an Apple system.
    ///
    /// The item is readable after the first unlock of the device, stays on the device, and is in no backup. The
    /// Keychain keeps it when the app is deleted.
    ///
    /// On macOS the app must be signed with an application identifier; otherwise the Keychain refuses each call.
    public struct KeychainStore: TokenStore {
        /// A call of the Keychain failed.
        public struct Failure: Error, Sendable, Hashable {
            /// The result code of Security, such as -34018 (`errSecMissingEntitlement`).
            public let status: Int32
        }

        private let item: TokenItem<KeychainItem>

        /// A store of one item.
        /// - Parameters:
        ///   - service: The item's `kSecAttrService`. Two servers need two names.
        ///   - accessGroup: The access group that the app shares with its extensions; nil for the app's own.
        public init(service: String = "latchkey", accessGroup: String? = nil) {
            item = TokenItem(KeychainItem(service: service, accessGroup: accessGroup))
        }

        /// The last saved tokens; nil if there are none.
        /// - Throws: ``Failure``, for example before the first unlock.
        public func load() async throws -> Tokens? { try await item.load() }

        /// Replaces the stored tokens; nil deletes them.
        /// - Throws: ``Failure``.
        public func save(_ tokens: Tokens?) async throws { try await item.save(tokens) }
    }

    /// A generic password of the data protection Keychain.
    private struct KeychainItem: ProtectedItem {
        let service: String
        let accessGroup: String?

        private var query: [CFString: Any] {
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: "tokens",
                kSecUseDataProtectionKeychain: true,
            ]
            query[kSecAttrAccessGroup] = accessGroup
            return query
        }

        private func attributes(_ data: Data) -> [CFString: Any] {
            [kSecValueData: data, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly]
        }

        func read() throws -> Data? {
            var query = query
            query[kSecReturnData] = true
            query[kSecMatchLimit] = kSecMatchLimitOne
            var found: CFTypeRef?
            guard try isDone(SecItemCopyMatching(query as CFDictionary, &found), unless: errSecItemNotFound) else {
                return nil
            }
            return found as? Data
        }

        func update(_ data: Data) throws -> Bool {
            let status = SecItemUpdate(query as CFDictionary, attributes(data) as CFDictionary)
            return try isDone(status, unless: errSecItemNotFound)
        }

        func add(_ data: Data) throws -> Bool {
            let item = query.merging(attributes(data)) { $1 }
            return try isDone(SecItemAdd(item as CFDictionary, nil), unless: errSecDuplicateItem)
        }

        func delete() throws {
            _ = try isDone(SecItemDelete(query as CFDictionary), unless: errSecItemNotFound)
        }

        /// Whether a call succeeded; false for the one expected failure.
        private func isDone(_ status: OSStatus, unless expected: OSStatus) throws -> Bool {
            guard status != errSecSuccess else { return true }
            guard status == expected else { throw KeychainStore.Failure(status: status) }
            return false
        }
    }
#endif
