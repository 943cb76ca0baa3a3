import TestSupport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension TemporaryDirectory {
    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name)) }

    func content(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: file(name)))) }

    func size(_ name: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: file(name))[.size] as? Int ?? 0
    }

    func copy(_ name: String, to other: String) throws {
        try Data(contentsOf: URL(filePath: file(name))).write(to: URL(filePath: file(other)))
    }

    /// Overwrites everything from an offset on.
    func overwrite(_ name: String, from offset: Int, with byte: UInt8) throws {
        let kept = try content(name)
        let damaged = Data(kept.prefix(offset)) + Data(repeating: byte, count: max(0, kept.count - offset))
        try damaged.write(to: URL(filePath: file(name)))
    }
}
