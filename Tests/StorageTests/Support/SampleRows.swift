import Foundation
import StorageModel
import TestSupport

@testable import Storage

/// Rows for every table, generated from the tables themselves, so that none is forgotten.
struct SampleRows {
    private struct Reference {
        let table: String
        let column: String
    }

    private let db: DatabaseProbe.Connection
    private let references: [String: Reference]

    /// Fills a database with rows whose values all differ.
    /// - Parameter shapes: Of an earlier version, to write what that version writes.
    static func fill(_ database: DatabaseProbe, rows: Int, shapes: [TableShape]? = nil) throws {
        let db = try database.connect()
        defer { db.close() }
        let shapes = try shapes ?? TableShape.all()
        var references: [String: Reference] = [:]
        for shape in shapes {
            let keys = try db.rows(
                "SELECT \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(?)", [.text(shape.name)])
            for key in keys {
                guard case (.text(let column), .text(let parent), .text(let field)) = (key[0], key[1], key[2]) else {
                    continue
                }
                references["\(shape.name).\(column)"] = Reference(table: parent, column: field)
            }
        }
        let sample = SampleRows(db: db, references: references)
        try db.execute("BEGIN")
        for shape in shapes { try sample.fill(shape, rows) }
        try db.execute("COMMIT")
    }

    private func fill(_ shape: TableShape, _ rows: Int) throws {
        let required = try db.texts(
            "SELECT name FROM pragma_table_info(?) WHERE \"notnull\" OR pk", [.text(shape.name)])
        let marks = shape.columns.map { _ in "?" }.joined(separator: ", ")
        for row in 0..<rows {
            // Every other row has all optional values, and one has all empty values.
            let values = shape.columns.map { column -> DatabaseProbe.Value in
                if !required.contains(column.name), row % 2 == 1 { return .null }
                return value(shape.name, column, row, isRequired: required.contains(column.name))
            }
            try db.rows("INSERT INTO \(shape.name) (\(shape.columnNames)) VALUES (\(marks))", values)
        }
    }

    private func value(
        _ table: String, _ column: TableShape.Column, _ row: Int, isRequired: Bool
    ) -> DatabaseProbe.Value {
        if let reference = references["\(table).\(column.name)"] {
            let parent = TableShape.Column(name: reference.column, kind: column.kind)
            return value(reference.table, parent, row, isRequired: true)
        }
        switch column.kind {
        case .integer: return .integer(Int64(row) * 3 + 1 + (row == 4 ? 1 << 60 : 0))
        case .text:
            if row == 2, !isRequired { return .text("") }
            return .text("\(table) \(column.name) \(row) \u{1} \u{E000} ü 🔑 '\"\\%?$1")
        case .blob:
            if row == 2, !isRequired { return .blob(Data()) }
            return .blob(
                Data([0, 0xFF, UInt8(truncatingIfNeeded: row), UInt8(truncatingIfNeeded: row >> 8)])
                    + Data("\(table).\(column.name)".utf8))
        }
    }
}
