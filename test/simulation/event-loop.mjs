import { AsyncResource } from 'node:async_hooks'
import timers from 'node:timers'

const realImmediate = timers.setImmediate

/** Rounds of the real event loop without a task after which a pending run counts as hanging. */
const IDLE_ROUNDS = 20

/**
 * The event loop of a simulated process. Time is virtual: it jumps to the next timer when
 * nothing else can happen, so a wait of minutes costs nothing and every order of events
 * follows from the seed. Tasks run one per round of the real event loop, which lets
 * promises and Node's own streams settle in between.
 */
export class EventLoop {
  nowMs = 0
  #immediates = []
  #timers = []
  #count = 0
  #failure

  /** A new process: nothing is scheduled. */
  clear() {
    this.#immediates = []
    this.#timers = []
    this.#failure = undefined
  }

  /** Reading a clock takes time, so that two reads differ. */
  read() {
    this.nowMs += 0.001
    return this.nowMs
  }

  /** An error outside every task, such as an unhandled rejection. */
  fail(error) {
    this.#failure ??= { error }
  }

  /** Runs until `main` settles, an exception escapes, nothing is left to do, or `isDead` says that the process was killed. */
  async run(main, isDead = () => false) {
    let result
    main().then(
      (value) => (result = { value }),
      (error) => (result = { error }),
    )
    for (let idle = 0; ;) {
      await new Promise((resolve) => realImmediate(resolve))
      if (isDead()) return this.#end({ isDead: true })
      if (this.#failure) return this.#end({ uncaught: this.#failure.error })
      if (result) return this.#end(result)
      const task = this.#next()
      if (task === undefined) {
        idle += 1
        if (idle > IDLE_ROUNDS) return this.#end({ isHanging: true })
        continue
      }
      idle = 0
      try {
        task()
      } catch (error) {
        this.fail(error)
      }
    }
  }

  setImmediate = (callback, ...args) => {
    const entry = new Entry(this, callback, args)
    this.#immediates.push(entry)
    return entry
  }

  setTimeout = (callback, ms, ...args) => this.#arm(new Entry(this, callback, args, ms))
  setInterval = (callback, ms, ...args) => this.#arm(new Entry(this, callback, args, ms, true))
  clearEntry = (entry) => void (entry instanceof Entry && entry.close())

  #arm(entry) {
    entry.dueMs = this.nowMs + entry.ms
    entry.order = this.#count++
    const at = this.#timers.findIndex(
      (one) => one.dueMs > entry.dueMs || (one.dueMs === entry.dueMs && one.order > entry.order),
    )
    this.#timers.splice(at < 0 ? this.#timers.length : at, 0, entry)
    return entry
  }

  rearm(entry) {
    this.#timers = this.#timers.filter((one) => one !== entry)
    if (!entry.isClosed) this.#arm(entry)
  }

  /** Timers that do not keep a process alive fire only while something else does. */
  #next() {
    for (let entry = this.#immediates.shift(); entry; entry = this.#immediates.shift())
      if (!entry.isClosed) return entry.run
    this.#timers = this.#timers.filter((entry) => !entry.isClosed)
    if (!this.#timers.some((entry) => entry.hasRef())) return undefined
    const entry = this.#timers.shift()
    this.nowMs = Math.max(this.nowMs, entry.dueMs)
    if (entry.repeats) this.#arm(entry)
    return entry.run
  }

  #end(result) {
    this.clear()
    return result
  }
}

/** What `setTimeout` returns. */
class Entry {
  isClosed = false
  #hasRef = true
  #loop

  constructor(loop, callback, args, ms = 0, repeats = false) {
    this.#loop = loop
    this.ms = Math.max(1, ms || 1)
    this.repeats = repeats
    const context = new AsyncResource('Simulated', { requireManualDestroy: true })
    this.run = () => context.runInAsyncScope(callback, undefined, ...args)
  }

  close() {
    this.isClosed = true
    return this
  }

  refresh() {
    this.#loop.rearm(this)
    return this
  }

  ref() {
    this.#hasRef = true
    return this
  }

  unref() {
    this.#hasRef = false
    return this
  }

  hasRef() {
    return this.#hasRef && !this.isClosed
  }
}
