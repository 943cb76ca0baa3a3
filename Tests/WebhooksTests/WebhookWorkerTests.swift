import Foundation
import Logging
import Primitives
import Storage
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import Webhooks

/// Workers on a real database, with a receiver in this process.
@Suite struct WebhookWorkerTests {
    @Test("Events are delivered in the order of each user, and the cursor is stored", arguments: Engine.allCases)
    func delivery(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(3)
        try await bench.record(of: users[0])
        bench.clock.advance(bySeconds: 1)
        try await bench.begin()
        for round in 0..<20 { try await bench.record(of: users[round % 3]) }
        let receiver = Receiver()
        try await bench.delivering(try bench.worker(receiver)) { try await until { try await bench.isDone() } }
        #expect(receiver.taken.count == 20, "events from before the endpoint was known are not sent")
        for user in 1...3 {
            let serials = receiver.taken(of: "user-\(user)")
            #expect(serials == serials.sorted() && serials.count >= 6)
        }
        let row = try await bench.store.webhook("crm")
        #expect(row?.delivered == 20 && row?.dropped == 0 && row?.holder == nil, "it is released")
    }

    @Test("A request has the fields of Standard Webhooks")
    func request() async throws {
        let bench = try WebhookBench(.sqlite)
        let users = try await bench.addUsers(1)
        try await bench.begin()
        try await bench.record(of: users[0])
        let receiver = Receiver()
        try await bench.delivering(try bench.worker(receiver)) { try await until { try await bench.isDone() } }
        let request = try #require(receiver.requests.first)
        let fields = Dictionary(request.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        #expect(request.method == .post && request.url.text == "https://crm.example/hooks")
        #expect(request.timeout == .seconds(15) && request.maximumBodyBytes == 65_536)
        #expect(fields["Content-Type"] == "application/json" && fields["webhook-timestamp"] == "1800000000")
        #expect(fields["webhook-signature"]?.hasPrefix("v1,") == true)
        #expect(fields["webhook-id"]?.hasPrefix("msg_") == true)
    }

    @Test("An event that fails makes its user wait; others go on; it comes again in order", arguments: Engine.allCases)
    func failingEvent(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(2)
        try await bench.begin()
        for round in 0..<12 { try await bench.record(of: users[round % 2]) }
        let receiver = Receiver { _, user, _ in OutboundResponse(status: user == "user-1" ? 500 : 200) }
        try await bench.delivering(try bench.worker(receiver)) {
            try await until { receiver.taken(of: "user-2").count == 6 }
            try await until { try await bench.store.webhookBacklog("crm")[users[0]] != nil }
            #expect(receiver.sent.filter { $0.user == "user-1" }.count == 1, "its later events wait")
            receiver.answer(200)
            bench.clock.advance(bySeconds: 5)
            try await until { try await bench.isDone() }
        }
        let serials = receiver.taken(of: "user-1")
        #expect(serials.count == 6 && serials == serials.sorted())
        let row = try await bench.store.webhook("crm")
        #expect(row?.error == "the receiver answered 500" && row?.failedAt != nil)
    }

    @Test(
        "Any other answer than 2xx is a failure, after which the event comes again",
        arguments: [199, 300, 302, 400, 401, 404, 410, 429, 500, 503])
    func answers(status: Int) async throws {
        let bench = try WebhookBench(.sqlite)
        let users = try await bench.addUsers(1)
        try await bench.begin()
        try await bench.record(of: users[0])
        let receiver = Receiver { _, _, count in OutboundResponse(status: count == 0 ? status : 200) }
        try await bench.delivering(try bench.worker(receiver)) {
            try await until { try await !bench.store.webhookBacklog("crm").isEmpty }
            bench.clock.advance(bySeconds: 5)
            try await until { try await bench.isDone() }
        }
        #expect(receiver.sent.map(\.isTaken) == [false, true])
        #expect(Set(receiver.sent.map(\.id)).count == 1)
    }

    @Test("A receiver that is down for an hour is caught up, each user in order", arguments: Engine.allCases)
    func outage(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(30)
        try await bench.begin()
        let receiver = Receiver { _, _, _ in nil }
        let worker = try bench.worker(receiver)
        var recorded: [Int] = []
        try await bench.delivering(worker) {
            for minute in 0..<60 {
                for offset in 0..<4 {
                    let user = (minute * 7 + offset * 11) % 30
                    try await bench.record(of: users[user])
                    recorded.append(user)
                }
                bench.clock.advance(bySeconds: 60)
            }
            // Of some users, each of them several times.
            try await until { receiver.sent.count >= 10 }
            #expect(receiver.taken.isEmpty)
            #expect(try await bench.store.webhookBacklog("crm").count <= 14, "no further user is tried")
            receiver.answer(200)
            try await until {
                // A request that was on its way may have failed since.
                bench.clock.advance(bySeconds: 20)
                return try await bench.isDone()
            }
        }
        #expect(receiver.taken.count == recorded.count)
        for user in 0..<30 {
            let serials = receiver.taken(of: "user-\(user + 1)")
            #expect(serials == serials.sorted() && serials.count == recorded.count { $0 == user })
        }
        #expect(bench.log.lines.filter { $0.message.contains("not delivered") }.count <= 14, "one line in five minutes")
    }

    @Test("A request that hangs delays nobody else", arguments: Engine.allCases)
    func hang(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(40)
        try await bench.begin()
        for user in users { try await bench.record(of: user) }
        let receiver = Receiver()
        let gate = Gate()
        let worker = try bench.worker(receiver) { environment in
            environment.send = { request throws(OutboundError) in
                if String(decoding: request.body, as: UTF8.self).contains(#""user-1""#) { await gate.pass() }
                return try receiver.send(request)
            }
        }
        try await bench.delivering(worker) {
            defer { gate.open() }
            try await until { receiver.taken.count == 39 }
            let last = try await bench.store.auditHorizon().serial
            #expect(try await bench.store.webhook("crm")?.cursor ?? last < last, "it is not passed over")
            gate.open()
            try await until { try await bench.isDone() }
        }
        #expect(receiver.taken.count == 40)
    }

    @Test(
        "Two instances share the endpoints; when one dies, the other goes on after its lease",
        arguments: Engine.allCases)
    func takeover(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(4)
        try await bench.begin()
        let receiver = Receiver()
        let isDead = SharedFlag()
        let first = try bench.worker(receiver, on: try bench.open()) { environment in
            environment.cut = { _ throws in if isDead.isSet { throw CancellationError() } }
        }
        let second = try bench.worker(receiver, on: try bench.open())
        try await bench.delivering(first) {
            try await until { first.figures.isHeld }
            try await bench.delivering(second) {
                for user in users { try await bench.record(of: user) }
                try await until { try await bench.isDone() }
                #expect(!second.figures.isHeld)
                isDead.set()
                for user in users { try await bench.record(of: user) }
                // The first renews nothing any more.
                try await until { !first.figures.isHeld }
                bench.clock.advance(bySeconds: 31)
                try await until { try await bench.isDone() }
                #expect(second.figures.isHeld)
            }
        }
        #expect(receiver.taken.count == 8)
        #expect(Set(receiver.sent.map(\.id)).count == 8, "duplicates have the same id")
    }

    @Test("An instance whose lease another one has taken stores nothing", arguments: Engine.allCases)
    func fencing(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let now = bench.clock.now
        let first = try #require(try await bench.claim(for: "a"))
        #expect(try await bench.claim(for: "b") == nil)
        let later = now.advanced(bySeconds: 30)
        #expect(try await bench.claim(for: "b", at: later) != nil)
        #expect(
            try await !bench.store.commitWebhook(
                first.row, WebhookProgress(cursor: 9), for: "a", at: later, seconds: 30))
        #expect(try await bench.store.webhook("crm")?.cursor == 0)
        // A clock that was an hour ahead.
        #expect(try await bench.claim(for: "b", at: later.advanced(bySeconds: 3600)) != nil)
        #expect(try await bench.claim(for: "a", at: later) != nil)
    }

    @Test(
        "While the store takes nothing, each event is sent once; after the lease it may come again, with its id",
        arguments: Engine.allCases)
    func fullDisk(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(2)
        try await bench.begin()
        let receiver = Receiver()
        let worker = try bench.worker(receiver)
        func isWarned(_ text: String) -> Bool { bench.log.lines.contains { $0.message.contains(text) } }
        try await bench.delivering(worker) {
            try await until { worker.figures.isHeld }
            try await bench.refuseProgress(engine)
            for round in 0..<6 { try await bench.record(of: users[round % 2]) }
            try await until { receiver.taken.count == 6 }
            try await until { isWarned("could not store how far") }
            #expect(try await bench.store.webhook("crm")?.cursor == 0)
            try await bench.takeProgress(engine)
            try await until { try await bench.isDone() }
            #expect(receiver.sent.count == 6, "this instance knows what it has sent")

            try await bench.refuseProgress(engine)
            for round in 0..<6 { try await bench.record(of: users[round % 2]) }
            try await until { receiver.taken.count == 12 }
            bench.clock.advance(bySeconds: 31)
            try await until { !worker.figures.isHeld }
            try await until { isWarned("could not read how far") }
            try await bench.takeProgress(engine)
            try await until { try await bench.isDone() }
        }
        #expect(receiver.taken.count == 12)
        #expect(Set(receiver.sent.map(\.id)).count == 12, "duplicates have the same id")
        for user in 1...2 { #expect(receiver.taken(of: "user-\(user)") == receiver.taken(of: "user-\(user)").sorted()) }
    }

    @Test("A replay sends the events again, with the ids that they had", arguments: Engine.allCases)
    func replay(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(2)
        try await bench.begin()
        for round in 0..<6 { try await bench.record(of: users[round % 2]) }
        let receiver = Receiver()
        try await bench.delivering(try bench.worker(receiver)) {
            try await until { try await bench.isDone() }
            let third = receiver.taken.sorted()[2]
            let event = AuditEvent(at: bench.clock.now, .webhookReplayed, user: nil, by: .operating("pat"))
            #expect(try await bench.store.replayWebhook("crm", after: third - 1, recording: event))
            try await until { receiver.sent.count == 10 }
            try await until { try await bench.isDone() }
        }
        #expect(receiver.taken.count == 6)
        #expect(Set(receiver.sent.map(\.id)).count == 6)
        let event = AuditEvent(at: bench.clock.now, .webhookReplayed, user: nil, by: .operating("pat"))
        #expect(try await !bench.store.replayWebhook("other", after: 0, recording: event))
    }

    @Test("Events older than the audit log keeps them are given up, counted and recorded", arguments: Engine.allCases)
    func expiry(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(2)
        try await bench.begin()
        for round in 0..<4 { try await bench.record(of: users[round % 2]) }
        // Two hours before they are 86,400 seconds old.
        bench.clock.advance(bySeconds: 86_400 - 7200 + 1)
        try await bench.record(of: users[0])
        let receiver = Receiver()
        try await bench.delivering(try bench.worker(receiver, retention: .seconds(86_400))) {
            try await until { try await bench.store.webhook("crm")?.delivered == 1 }
        }
        #expect(receiver.taken.count == 1)
        #expect(try await bench.store.webhook("crm")?.dropped == 4)
        let events = try await bench.store.auditEvents(AuditQuery(kind: .webhookDropped))
        #expect(
            events.map(\.event.details.json)
                == [#"{"endpoint":"crm","events":4,"first_serial":1,"last_serial":4}"#])
        #expect(bench.log.lines.contains { $0.level == .error && $0.metadata["events"] == "4" })
    }

    @Test(
        "Events of a user who was erased since are sent, with the public id that the erasure has",
        arguments: Engine.allCases)
    func erased(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(2)
        try await bench.begin()
        try await bench.record("session.created", of: users[0]) { json in
            json.add("session_id", "session-1")
            json.add("new_user", true)
        }
        bench.clock.advance(bySeconds: 1)
        try await bench.record("session.created", of: users[0]) { $0.add("session_id", "session-2") }
        try await bench.record(of: users[0]) { $0.add("attributes", ["name"]) }
        let user = try await bench.store.writes.submit { db in try UsersTable.user(users[0], in: db) }
        let erased = try #require(user)
        let event = AuditEvent(
            at: bench.clock.now, .userErased, user: users[0], by: .user,
            details: AuditDetails { $0.add(erased: erased) })
        #expect(try await bench.store.deleteUser(users[0], in: nil, recording: event))
        // One whom an earlier version erased.
        let plain = AuditEvent(at: bench.clock.now, .userErased, user: users[1], by: .user)
        #expect(try await bench.store.deleteUser(users[1], in: nil, recording: plain))
        let receiver = Receiver()
        try await bench.delivering(try bench.worker(receiver)) { try await until { try await bench.isDone() } }
        let bodies = receiver.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(
            bodies.compactMap { $0.split(separator: "\"").dropFirst(3).first }
                == ["user.created", "session.created", "session.created", "user.updated", "user.deleted"])
        #expect(bodies.allSatisfy { $0.contains(#""user_id":"user-1""#) })
        #expect(bodies.map { $0.contains(#""erased":true"#) } == [true, true, true, true, false])
        #expect(bodies[3].contains("attributes") == false, "the details are gone")
        #expect(try await bench.store.webhook("crm")?.dropped == 1)
    }

    @Test("Endpoints that no server has had for the time of the audit log are forgotten", arguments: Engine.allCases)
    func purge(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        try await bench.begin()
        #expect(try await bench.store.purgeWebhooks(before: bench.clock.now) == 0)
        #expect(try await bench.store.purgeWebhooks(before: bench.clock.now.advanced(bySeconds: 1)) == 1)
        #expect(try await bench.store.webhook("crm") == nil)
    }

    @Test(
        "A log line tells that no server delivered for longer than the audit log is kept",
        arguments: [(86_400, false), (86_401, true)])
    func gap(seconds: Int64, isTold: Bool) async throws {
        let bench = try WebhookBench(.sqlite)
        try await bench.begin()
        bench.clock.advance(bySeconds: seconds)
        let worker = try bench.worker(Receiver(), retention: .seconds(86_400))
        try await bench.delivering(worker) { try await until { worker.figures.isHeld } }
        #expect(bench.log.lines.contains { $0.message.contains("no server has delivered") } == isTold)
    }

    @Test("A request that the end of the server stops is no failure, and comes again at once after the next start")
    func shutDown() async throws {
        let bench = try WebhookBench(.sqlite)
        let users = try await bench.addUsers(1)
        try await bench.begin()
        try await bench.record(of: users[0])
        let isSent = SharedFlag()
        let stopped = try bench.worker(Receiver()) { environment in
            environment.send = { _ throws(OutboundError) in
                isSent.set()
                throw OutboundError(.shutDown, mayHaveBeenSent: true, reason: "The client shuts down.")
            }
        }
        try await bench.delivering(stopped) { try await until { isSent.isSet } }
        #expect(try await bench.store.webhookBacklog("crm").isEmpty)
        #expect(try await bench.store.webhook("crm")?.failedAt == nil)
        let receiver = Receiver()
        try await bench.delivering(try bench.worker(receiver)) { try await until { try await bench.isDone() } }
        #expect(receiver.sent.map(\.isTaken) == [true])
    }

    @Test("Of a registration the session is sent after the user was taken")
    func registration() async throws {
        let bench = try WebhookBench(.sqlite)
        let users = try await bench.addUsers(1)
        try await bench.begin()
        try await bench.record("session.created", of: users[0]) { $0.add("new_user", true) }
        let receiver = Receiver { _, _, count in OutboundResponse(status: count == 0 ? 500 : 200) }
        try await bench.delivering(try bench.worker(receiver)) {
            try await until { try await !bench.store.webhookBacklog("crm").isEmpty }
            #expect(receiver.sent.count == 1)
            bench.clock.advance(bySeconds: 5)
            try await until { try await bench.isDone() }
        }
        let types = receiver.requests.map { (try? JSONValue(parsing: $0.body))?.object?["type"]?.string }
        #expect(types == ["user.created", "user.created", "session.created"])
    }

    @Test("A worker with nothing to deliver keeps its endpoint", arguments: Engine.allCases)
    func renewal(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        try await bench.begin()
        let worker = try bench.worker(Receiver())
        try await bench.delivering(worker) {
            try await until { worker.figures.isHeld }
            for _ in 0..<4 {
                bench.clock.advance(bySeconds: 11)
                let end = bench.clock.now.advanced(bySeconds: 30)
                try await until { try await bench.store.webhook("crm")?.heldUntil == end }
            }
        }
    }

    @Test(
        "An endpoint that an administrator sets back, or another instance has, is taken anew",
        arguments: [true, false])
    func lost(isSetBack: Bool) async throws {
        let bench = try WebhookBench(.sqlite)
        let users = try await bench.addUsers(1)
        try await bench.begin()
        try await bench.record(of: users[0])
        let receiver = Receiver()
        let worker = try bench.worker(receiver)
        try await bench.delivering(worker) {
            try await until { try await bench.isDone() }
            if isSetBack {
                let event = AuditEvent(at: bench.clock.now, .webhookReplayed, user: nil, by: .operating("pat"))
                #expect(try await bench.store.replayWebhook("crm", after: 0, recording: event))
                try await until { receiver.sent.count == 2 }
            } else {
                try await bench.store.writes.submit { db in
                    try db.perform("UPDATE webhook_endpoints SET holder = 'other', held_until = held_until + 20")
                }
                try await bench.record(of: users[0])
                try await until { !worker.figures.isHeld }
                bench.clock.advance(bySeconds: 60)
            }
            try await until { try await bench.isDone() }
        }
        #expect(try await bench.store.webhook("crm")?.delivered == 2)
    }

    @Test("A new endpoint gets the events from the start of its server on", arguments: Engine.allCases)
    func beginning(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(1)
        let start = bench.clock.now
        for seconds in [-1, 0, 5] as [Int64] {
            let event = AuditEvent(
                at: start.advanced(bySeconds: seconds), AuditEvent.Kind("user.edited"), user: users[0], by: .user)
            try await bench.store.addAuditEvent(event)
        }
        let claim = try await bench.store.claimWebhook(
            "crm", salt: "salt", beginning: start, for: "a", at: start.advanced(bySeconds: 9), seconds: 30)
        #expect(claim?.row.cursor == 1)
        #expect(try await bench.store.webhookSerial(before: start) == 1)
        #expect(try await bench.store.webhookSerial(before: start.advanced(bySeconds: 6)) == 3)
    }

    @Test(
        "What is set back forgets the waits of later events, and skips no event; a former instance stores nothing",
        arguments: Engine.allCases)
    func setBack(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(2)
        let now = bench.clock.now
        let claim = try #require(try await bench.claim(for: "a"))
        var progress = WebhookProgress(cursor: 5)
        for (user, serial) in zip(users, [2, 4] as [Int64]) {
            progress.backlog[user] = WebhookBacklog(serial: serial, attempts: 1, dueAt: now, since: now, error: "500")
        }
        #expect(try await bench.store.commitWebhook(claim.row, progress, for: "a", at: now, seconds: 30))
        let event = AuditEvent(at: now, .webhookReplayed, user: nil, by: .operating("pat"))
        for (serial, cursor) in [(2, 2), (9, 2)] as [(Int64, Int64)] {
            #expect(try await bench.store.replayWebhook("crm", after: serial, recording: event))
            #expect(try await bench.store.webhook("crm")?.cursor == cursor)
            #expect(try await Array(bench.store.webhookBacklog("crm").keys) == [users[0]])
        }
        #expect(try await !bench.store.commitWebhook(claim.row, progress, for: "a", at: now, seconds: 30))
        // Only who has it releases it.
        try await bench.store.releaseWebhook("crm", of: "b")
        #expect(try await bench.store.webhook("crm")?.holder == "a")
    }

    @Test("The waits of an endpoint go with it", arguments: Engine.allCases)
    func purgeWaits(engine: Engine) async throws {
        let bench = try WebhookBench(engine)
        let users = try await bench.addUsers(1)
        let now = bench.clock.now
        for name in ["crm", "erp"] {
            let claim = try #require(try await bench.claim(name, for: "a"))
            var progress = WebhookProgress(cursor: 1)
            progress.backlog[users[0]] = WebhookBacklog(serial: 1, attempts: 1, dueAt: now, since: now, error: "500")
            let time = name == "crm" ? now : now.advanced(bySeconds: 1)
            #expect(try await bench.store.commitWebhook(claim.row, progress, for: "a", at: time, seconds: 30))
        }
        #expect(try await bench.store.purgeWebhooks(before: now.advanced(bySeconds: 1)) == 2)
        #expect(try await bench.store.webhookBacklog("crm").isEmpty)
        #expect(try await bench.store.webhookBacklog("erp").count == 1)
    }

    @Test("More events than one reading takes are all sent")
    func manyEvents() async throws {
        let bench = try WebhookBench(.sqlite)
        let users = try await bench.addUsers(2)
        try await bench.begin()
        let time = bench.clock.now
        try await bench.store.writes.submit { db in
            for number in 0..<600 {
                try AuditTable.insert(
                    AuditEvent(at: time, AuditEvent.Kind("user.edited"), user: users[number % 2], by: .user), in: db)
            }
        }
        let receiver = Receiver()
        try await bench.delivering(try bench.worker(receiver)) { try await until { try await bench.isDone() } }
        #expect(receiver.taken.count == 600)
    }

    @Test("Events of a user who was merged into another one have the public id that the merge recorded")
    func mergedAway() async throws {
        let bench = try WebhookBench(.sqlite)
        let users = try await bench.addUsers(1)
        try await bench.begin()
        try await bench.record(of: users[0])
        let user = try await bench.store.writes.submit { db in try UsersTable.user(users[0], in: db) }
        let gone = try #require(user)
        let event = AuditEvent(
            at: bench.clock.now, .userMergedAway, user: users[0], by: .operating("pat"),
            details: AuditDetails { $0.add(erased: gone) })
        #expect(try await bench.store.deleteUser(users[0], in: nil, recording: event))
        let receiver = Receiver()
        try await bench.delivering(try bench.worker(receiver)) { try await until { try await bench.isDone() } }
        #expect(receiver.sent.map(\.user) == ["user-1", "user-1"])
    }
}
