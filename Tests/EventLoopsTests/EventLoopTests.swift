import EventLoops
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("Event loops")
struct EventLoopTests {
    @Test("Work of another thread is run on the loop's thread, in its order")
    func order() async throws {
        let loop = try EventLoop(label: "order", tick: .seconds(600))
        let seen = Mutex([Int]())
        for number in 0..<1000 {
            loop.execute {
                #expect(EventLoop.current === loop && loop.isCurrent)
                seen.withLock { $0.append(number) }
            }
        }
        await passed(loop)
        #expect(seen.withLock { $0 } == Array(0..<1000))
        #expect(EventLoop.current == nil && !loop.isCurrent)
    }

    @Test("Work that submits work is run to its end, and other threads are heard meanwhile")
    func nested() async throws {
        let loop = try EventLoop(label: "nested", tick: .seconds(600))
        let count = Mutex(0)
        let isOver = Mutex(false)
        @Sendable func step() {
            count.withLock { $0 += 1 }
            if !isOver.withLock({ $0 }) { loop.execute { step() } }
        }
        loop.execute { step() }
        await passed(loop)
        isOver.withLock { $0 = true }
        await passed(loop)
        #expect(count.withLock { $0 } > 0)
    }

    @Test("What ends with a piece of work may submit more")
    func submittedAtEnd() async throws {
        let loop = try EventLoop(label: "at end", tick: .seconds(600))
        await withCheckedContinuation { done in
            // On the loop, so that the submitted closure has the last reference.
            loop.execute {
                loop.execute { [last = AtEnd { loop.execute { done.resume() } }] in _ = last }
            }
        }
    }

    @Test("A task of the loop resumes on it after each suspension")
    func tasks() async throws {
        let loop = try EventLoop(label: "tasks", tick: .seconds(600))
        let gate = Gate()
        let task = Task(executorPreference: loop) {
            var places = [loop.isCurrent]
            await gate.pass()
            places.append(loop.isCurrent)
            await Task.yield()
            places.append(loop.isCurrent)
            return places
        }
        await gate.untilWaiting()
        gate.open()
        #expect(await task.value == [true, true, true])
    }

    @Test("A member is told of bytes once for each arrival, and of the time")
    func members() async throws {
        let loop = try EventLoop(label: "members", tick: .milliseconds(1))
        let pipe = try Pipe()
        let member = Member(pipe.reading)
        try await on(loop) { try member.begin(on: loop) }
        for number in 1...100 {
            pipe.write()
            try await until { member.bytes == number }
        }
        try await until { member.ticks > 2 }
        try await on(loop) { member.end(on: loop) }
        let (bytes, ticks) = (member.bytes, member.ticks)
        pipe.write()
        for _ in 0..<100 { await passed(loop) }
        #expect(member.bytes == bytes && member.ticks == ticks)
    }

    @Test("A member without a descriptor is told of the time when it asks for it, before the tick, and no other is")
    func alarm() async throws {
        let loop = try EventLoop(label: "asked", tick: .seconds(600))
        let (member, other) = (Member(nil), Member(nil))
        try await on(loop) {
            try member.begin(on: loop)
            try other.begin(on: loop)
            other.setAlarm(to: .now().advanced(by: .seconds(600)), on: loop)
            member.setAlarm(to: .now().advanced(by: .seconds(600)), on: loop)
            member.setAlarm(to: .now().advanced(by: .milliseconds(20)), on: loop)
        }
        await passed(loop)
        try await until { member.ticks == 1 }
        try await on(loop) {
            member.setAlarm(to: .now(), on: loop)
            member.end(on: loop)
        }
        for _ in 0..<100 { await passed(loop) }
        #expect(member.ticks == 1 && other.ticks == 0)
    }

    @Test("An alarm of a former member leaves that of its slot's present one")
    func alarmOfFormerMember() async throws {
        let loop = try EventLoop(label: "former", tick: .seconds(600))
        let (former, present) = (Member(nil), Member(nil))
        try await on(loop) {
            let registration = loop.register(former)
            loop.unregister(registration, descriptor: nil)
            try present.begin(on: loop)
            present.setAlarm(to: .now().advanced(by: .milliseconds(20)), on: loop)
            loop.setAlarm(of: registration, to: .now().advanced(by: .seconds(600)))
        }
        try await until { present.ticks == 1 }
        #expect(former.ticks == 0)
        try await on(loop) { present.end(on: loop) }
    }

    @Test("A slot that is used again gets no event of its former member")
    func generations() async throws {
        let loop = try EventLoop(label: "generations", tick: .seconds(600))
        let (first, second, third) = (try Pipe(), try Pipe(), try Pipe())
        let members = (Member(first.reading), Member(second.reading))
        let successor = Member(third.reading)
        // Both are ready in the same turn. The one that comes first replaces the other.
        try await on(loop) {
            members.0.onReady = {
                members.1.end(on: loop)
                try? successor.begin(on: loop)
            }
            members.1.onReady = {
                members.0.end(on: loop)
                try? successor.begin(on: loop)
            }
            try members.0.begin(on: loop)
            try members.1.begin(on: loop)
            first.write()
            second.write()
        }
        try await until { members.0.calls + members.1.calls > 0 }
        for _ in 0..<100 { await passed(loop) }
        #expect(members.0.calls + members.1.calls == 1)
        #expect(successor.calls == 0)
        third.write()
        try await until { successor.bytes == 1 }
        try await on(loop) { for member in [members.0, members.1, successor] { member.end(on: loop) } }
    }

    @Test("A released loop runs its work, and leaves neither thread nor descriptor")
    func released() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<20 { try await EventLoopTests.use(loops: 10) }
            try await until { try pollerDescriptors() <= ofDispatch }
            try await until { try threads(named: "used-") == 0 }
        }
    }

    @Test("A loop that is released on its own thread ends")
    func releasedByItself() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<100 {
                let loop = try EventLoop(label: "own", tick: .seconds(600))
                // The loop's last reference.
                loop.execute { [loop] in loop.execute { [loop] in _ = loop } }
            }
            try await until { try pollerDescriptors() <= ofDispatch }
            try await until { try threads(named: "own") == 0 }
        }
    }

    @Test("As many loops as a process may have run, and leave Dispatch its threads; another one is refused")
    func many() async {
        await #expect(processExitsWith: .success) {
            let loops = try (0..<EventLoop.maximumCount).map { try EventLoop(label: "many-\($0)", tick: .seconds(600)) }
            for loop in loops { await passed(loop) }
            await EventLoopTests.passedByDispatch()
            #expect(throws: SystemError(call: "start of an event loop", number: EAGAIN)) {
                try EventLoop(label: "more", tick: .seconds(600))
            }
            for loop in loops { await passed(loop) }
        }
    }

    @Test("An idle loop is woken once for what is submitted meanwhile, and not by its own work")
    func coalesced() async throws {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop(label: "coalesced", tick: .seconds(600))
            let rounds = 200
            for _ in 0..<rounds {
                await passed(loop)
                let (entered, released) = (DispatchGate(), DispatchGate())
                loop.execute {
                    entered.open()
                    released.pass()
                    for _ in 0..<100 { loop.execute {} }
                }
                entered.pass()
                for _ in 0..<100 { loop.execute {} }
                released.open()
                await passed(loop)
            }
            // Two or three submissions of a round find the loop asleep.
            #expect(loop.wakeCount <= rounds * 3 + 1)
        }
    }

    private static func use(loops count: Int) async throws {
        let ran = Mutex(0)
        for number in 0..<count {
            // Held by nobody once the work is submitted.
            try EventLoop(label: "used-\(number)", tick: .seconds(600)).execute { ran.withLock { $0 += 1 } }
        }
        try await until { ran.withLock { $0 } == count }
    }
}
