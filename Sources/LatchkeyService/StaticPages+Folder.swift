import Foundation
import LatchkeyAPI

extension StaticPages {
    /// Larger files do not belong into memory, nor into this program.
    private static let maximumBytes = 1 << 20

    /// Reads the files of a folder, not of folders in it. A folder that is not there has none.
    /// - Throws: ``LatchkeyStartError`` if a file cannot be read or is larger than 1 MiB.
    init(inFolder folder: String) throws {
        var files: [String: [UInt8]] = [:]
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where !name.hasPrefix(".") {
            let path = folder + "/" + name
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
                continue
            }
            guard let content = FileManager.default.contents(atPath: path) else {
                throw LatchkeyStartError(.configuration, "\(path) cannot be read")
            }
            guard content.count <= StaticPages.maximumBytes else {
                throw LatchkeyStartError(.configuration, "\(path) is larger than 1 MiB; serve it from elsewhere")
            }
            files[name] = Array(content)
        }
        self.init(files)
    }
}
