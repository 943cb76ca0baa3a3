import Foundation
import GRDB
import StorageModel

@testable import Storage

/// Rows for every table, generated from the tables themselves, so that none is forgotten.
struct SampleRows {
    private struct Reference {
        let table: String
        let column: String
    }

    private let db: Database
    private let references: [String: Reference]

    /// Fills a database with rows whose values all differ.
    /// - Parameter shapes: Of an earlier version, to write what that version writes.
    static func fill(_ db: Database, rows: Int, shapes: [TableShape]? = nil) throws {
        let shapes = try shapes ?? TableShape.all()
        var references: [String: Reference] = [:]
        for shape in shapes {
            let keys = try Row.fetchAll(
                db, sql: "SELECT \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(?)", arguments: [shape.name])
            for key in keys {
                references["\(shape.name).\(key["from"] as String)"] = Reference(table: key["table"], column: key["to"])
            }
        }
        let sample = SampleRows(db: db, references: references)
        for shape in shapes { try sample.fill(shape, rows) }
    }

    private func fill(_ shape: TableShape, _ rows: Int) throws {
        let required = try String.fetchSet(
            db, sql: "SELECT name FROM pragma_table_info(?) WHERE \"notnull\" OR pk", arguments: [shape.name])
        // As bytes, because GRDB ends a text at its first NUL.
        let marks = shape.columns.map { $0.kind == .text ? "CAST(? AS TEXT)" : "?" }.joined(separator: ", ")
        for row in 0..<rows {
            // Every other row has all optional values, and one has all empty values.
            let values = shape.columns.map { column -> (any DatabaseValueConvertible)? in
                if !required.contains(column.name), row % 2 == 1 { return nil }
                return value(shape.name, column, row, isRequired: required.contains(column.name))
            }
            try db.execute(
                sql: "INSERT INTO \(shape.name) (\(shape.columnNames)) VALUES (\(marks))",
                arguments: StatementArguments(values))
        }
    }

    private func value(
        _ table: String, _ column: TableShape.Column, _ row: Int, isRequired: Bool
    ) -> any DatabaseValueConvertible {
        if let reference = references["\(table).\(column.name)"] {
            let parent = TableShape.Column(name: reference.column, kind: column.kind)
            return value(reference.table, parent, row, isRequired: true)
        }
        switch column.kind {
        case .integer: return Int64(row) * 3 + 1 + (row == 4 ? 1 << 60 : 0)
        case .text:
            if row == 2, !isRequired { return Data() }
            return Data("\(table) \(column.name) \(row) \u{0} \u{E000}0 \u{E000} ü 🔑 '\"\\%?$1".utf8)
        case .blob:
            if row == 2, !isRequired { return Data() }
            return Data([0, 0xFF, UInt8(truncatingIfNeeded: row), UInt8(truncatingIfNeeded: row >> 8)])
                + Data("\(table).\(column.name)".utf8)
        }
    }
}
