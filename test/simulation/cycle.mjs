import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { makeProgram, runAgent } from './agent.mjs'
import {
  connect,
  current,
  findDoubts,
  installMachine,
  loop,
  openTape,
  readRun,
  retake,
  RUNS,
  startProcess,
} from './machine.mjs'
import { reorder } from './reorder.mjs'
import { hashOf, Seeded } from './seeded.mjs'
import { modelKey, toolKey, World } from './world.mjs'

const TOOLS = ['search', 'send', 'slow', 'extra']
const tools = Object.fromEntries(
  TOOLS.map((name) => [name, retake.tool(name, (args) => current.world.callTool(name, args))]),
)

/** Which of several runs something belongs to. */
const currentRun = new AsyncLocalStorage()

/**
 * One cycle: a random agent is recorded against a random world and replayed, then one of the
 * other ways to run it again is tried. Throws where something is not as promised.
 */
export async function runCycle(seed, only) {
  const cycle = new Cycle(seed)
  await cycle.recordAndReplay()
  const scenario = only ?? cycle.random.pick(SCENARIOS)
  await cycle[scenario]()
  return scenario
}

/** Node loads parts of itself at their first use, which a recording would note. */
export async function warmUp() {
  for (let seed = 0; seed < 5; seed += 1) await new Cycle(`warm up ${seed}`).recordAndReplay()
}

const SCENARIOS =
  'fork forkOfFork offline resume resume together rerun changedCode pin pinAll reorder answer'.split(
    ' ',
  )

class Cycle {
  constructor(seed) {
    this.seed = seed
    this.random = new Seeded(seed)
    /** Answers that forks have changed, by key. */
    this.overrides = new Map()
    this.replayed = 0
    this.program = makeProgram(this.random)
    this.durability = new Seeded(`${seed} durability`).chance(0.3) ? 'process' : 'machine'
    installMachine(seed)
  }

  async recordAndReplay() {
    const { run, output } = await this.record()
    this.goOnWith(run.path, output)
    await this.replays(run.path, output)
  }

  /** The run that is run again from here on. */
  goOnWith(path, output) {
    this.path = path
    this.output = output
    this.tape = openTape(path)
    this.steps = readRun(this.tape).recordedSteps
  }

  /** A fork changes one answer: all before it is served, the rest is live and as if the world had answered so. */
  async fork(answer = 'an edited answer') {
    const step = this.random.pick(this.steps.filter((one) => this.canEdit(one)))
    if (step === undefined) return
    this.overrides.set(this.keyOf(step), step.kind === 'tool' ? { value: answer } : answer)
    const expected = await this.oracle(this.connect())
    const asked = this.connect()
    const { output, run } = await this.succeeds(() =>
      retake.fork(this.path, this.agent(), { at: step.label, set: editOf(step, answer) }),
    )
    const before = this.steps.filter((one) => one.answerSeqs.at(-1) < step.answerSeqs[0])
    this.wasNotAsked(asked, [...before, step])
    this.isLike(output, expected)
    await this.replays(run.path, output)
    this.goOnWith(run.path, output)
  }

  async forkOfFork() {
    await this.fork()
    await this.fork('another edited answer')
  }

  /** The same without a way outside: what the parent asked gets its answer, everything else is refused. */
  async offline() {
    const step = this.random.pick(this.steps.filter((one) => this.canEdit(one)))
    if (step === undefined) return
    const answer = this.random.chance(0.5) ? readText(step) : 'an edited answer'
    this.overrides.set(this.keyOf(step), step.kind === 'tool' ? { value: answer } : answer)
    const expected = await this.oracle(this.connect())
    const world = this.connect()
    const result = await this.run(() =>
      retake.fork(this.path, this.agent(), {
        at: step.label,
        set: editOf(step, answer),
        tail: 'offline',
      }),
    )
    assert.deepEqual(world.contacts, [], 'an offline tail reached the outside')
    const isOther = this.program.isTimed || answer !== readText(step)
    if (isOther && result.error?.code === 'OFFLINE_TAIL_ENDED') return
    const { output, run } = valueOf(result)
    this.isLike(output, expected)
    await this.replays(run.path, output)
  }

  /** The process is killed at any system call, several times, and resumed until it is done. */
  async resume() {
    const calls = current.disk.calls
    const policy = this.random.pick(['retry', 'retry', 'skip', 'fail'])
    const first = await this.recordUntilKilled(calls)
    let isSettled = true
    if (first.path === undefined) return
    this.isPrefix(first.path)
    const world = first.world
    for (let life = 1; ; life += 1) {
      if (!isReadable(first.path)) return this.isUntouched(world)
      const before = openTape(first.path)
      if (before.status !== 'truncated') return this.replays(first.path)
      this.hasAllContacts(before, world)
      startProcess(`${this.seed} life ${life}`)
      if (life < 4 && this.random.chance(0.6)) this.kill(this.random.between(1, calls))
      const doubts = findDoubts(before)
      isSettled &&= hasAllEnds(before)
      const result = await this.run(() =>
        retake.resume(first.path, this.agent(), { inDoubt: policy }),
      )
      if (this.revive(result)) continue
      if (policy === 'fail' && doubts.length > 0) {
        assert.equal(result.error?.code, 'STEP_IN_DOUBT')
        return
      }
      const { output } = valueOf(result)
      // A repeated request is later than the first one was: a race may come to something else.
      if (policy === 'retry' && (isSettled || !this.program.isTimed))
        this.isLike(output, this.output)
      if (policy !== 'retry')
        assert.equal(new Set(world.contacts).size, world.contacts.length, 'something was repeated')
      await this.replays(first.path, output)
      return
    }
  }

  /**
   * Several runs in one process share their syncs. It is killed at any system call: each tape
   * is how its run begins, and has whatever that run sent.
   */
  async together() {
    const programs = [1, 2, 3].map(() => makeProgram(this.random))
    installMachine(this.seed)
    await this.recordTogether(programs)
    const whole = tapePaths().map((path) => openTape(path))
    const { calls } = current.disk
    installMachine(this.seed)
    this.kill(this.random.between(1, calls))
    const { result, sent } = await this.recordTogether(programs)
    const losesPages = this.durability === 'process' && this.random.chance(0.5)
    const isPowerCut = this.random.chance(0.5)
    if (!current.disk.isDead) return valueOf(result)
    current.disk.restart({ isPowerCut, losesPages, random: this.random })
    for (const [run, path] of tapePaths().entries()) {
      const mayBeLost = isPowerCut && this.durability === 'process'
      if (isReadable(path)) isPrefixOf(openTape(path), whole[run])
      if (mayBeLost) continue
      if (isReadable(path)) this.hasAllContacts(openTape(path), { contacts: sent[run] })
      else assert.deepEqual(sent[run], [], 'a request left before its tape was there')
    }
  }

  /** Unchanged code asks for what it asked for: nothing reaches the outside. */
  async rerun() {
    const world = this.connect()
    const { output, divergence } = await this.succeeds(() => retake.rerun(this.path, this.agent()))
    assert.equal(divergence, undefined)
    assert.deepEqual(world.contacts, [])
    isSame(output, this.output)
  }

  /** Changed code is served up to its change; after it all requests that are on the tape. */
  async changedCode() {
    const [lane] = this.program.lanes
    const changed = this.random.between(0, lane.length - 1)
    const expected = await this.oracle(this.connect(), changed)
    const asked = this.connect()
    const { output, run, servedEvents } = await this.succeeds(() =>
      retake.rerun(this.path, this.agent(changed)),
    )
    const isServed = (one) =>
      one.answerSeqs.at(-1) < servedEvents || (one.seq >= servedEvents && this.isRepeatable(one))
    this.wasNotAsked(asked, this.steps.filter(isServed))
    this.isLike(output, expected)
    await this.replays(run.path, output, changed)
  }

  /** Some steps are pinned to what was recorded, the others get other answers. */
  async pin() {
    const steps = retake.searchableSteps(this.tape)
    const pinned = steps.filter(() => this.random.chance(0.5))
    await this.forkWith(pinned, this.random.chance(0.5) ? this.ambient() : undefined)
  }

  /** Every step and file is pinned, clocks and chance are live from the start: nothing reaches the outside. */
  async pinAll() {
    const steps = retake.searchableSteps(this.tape)
    const output = await this.forkWith(steps, this.ambient(1))
    if (output !== undefined && !this.program.isTimed) this.isLike(output, this.output)
  }

  /** Some files come from the tape; the others say something else by now. */
  ambient(chance = 0.5) {
    const files = this.filesRead.filter(() => this.random.chance(chance))
    return { draws: [], files, variables: [], order: this.random.chance(0.5) }
  }

  async forkWith(pinned, ambient) {
    const steps = retake.searchableSteps(this.tape)
    const world = new World(`${this.seed} other`, { loop, faults: 0 })
    connect(world)
    const result = await this.run(() =>
      retake.forkPinned(this.path, this.agent(), {
        pinned: pinned.map(({ label }) => label),
        mode: 'free',
        seed: 1,
        ...(ambient && { ambient }),
      }),
    )
    const isAllPinned = pinned.length === steps.length
    if (isAllPinned) assert.deepEqual(world.contacts, [])
    // A race that comes to something else may need an answer that nobody has; so may other files.
    const isRefused = isAllPinned && result.error?.code === 'NOT_IN_RECORDING'
    const hasOtherFiles = ambient !== undefined && ambient.files.length < this.filesRead.length
    if (isRefused && (this.program.isTimed || this.hasUnsearched || hasOtherFiles)) return undefined
    const { output, run, pinned: report } = valueOf(result)
    for (const step of pinned.filter(({ label }) => report?.matched[label] !== undefined)) {
      const [then, now] = [this.output, output].map(({ seen }) => this.laneOf(step, seen))
      const text = readText(step)
      // Answers come faster than then, so a race may come to something else.
      if (then.includes(text) && !this.program.isTimed)
        assert.ok(now.includes(text), `${text} was pinned and not seen`)
    }
    if (report) this.isReported(report, { pinned, fork: openTape(run.path), live: world.contacts })
    await this.replays(run.path, output)
    return output
  }

  /** Titles of the recorded file calls. */
  get filesRead() {
    const calls = [...this.tape.events()].filter(
      ({ type, kind }) => type === 'call' && kind === 'file',
    )
    return calls.map(({ title }) => title)
  }

  /** True if some step has no full answer that could be pinned. */
  get hasUnsearched() {
    return retake.searchableSteps(this.tape).length < this.steps.length
  }

  /** The recorded answers in another order that could have been: lanes do not notice. */
  async reorder() {
    const world = this.connect()
    const seed = this.random.between(0, 9)
    const result = await this.run(() => reorder(this.path, this.agent(), { seed, dir: RUNS }))
    assert.deepEqual(world.contacts, [], 'a run in another order reached the outside')
    if (!this.program.isTimed) this.isLike(valueOf(result), this.output)
  }

  /** The tape answers whatever program asks for the same. */
  async answer() {
    const world = this.connect()
    const result = await this.run(() =>
      retake.answerFrom(this.path, this.agent(), { dir: RUNS, otherwise: 'fail' }),
    )
    assert.deepEqual(world.contacts, [], 'a tape that answers reached the outside')
    if (this.program.isTimed && result.error?.code === 'ANSWER_NOT_ON_TAPE') return
    // Answers come faster than then, so a race may come to something else.
    if (!this.program.isTimed) this.isLike(valueOf(result).output, this.output)
    await this.replays(result.value.run.path, result.value.output)
  }

  // ── runs ──────────────────────────────────────────────────────────────────

  agent(changed) {
    return () => runAgent(this.program, { tools, changed })
  }

  /** The world of this cycle, as it was at the start. */
  connect() {
    const world = connect(new World(this.seed, { loop, overrides: this.overrides }))
    world.onContact = () => this.isCommitted()
    return world
  }

  run(main) {
    return loop.run(main, () => current.disk.isDead)
  }

  async succeeds(main) {
    return valueOf(await this.run(main))
  }

  /** What the agent would do in this world without Retake. */
  async oracle(world, changed) {
    connect(world)
    return this.succeeds(this.agent(changed))
  }

  async record() {
    startProcess(this.seed)
    this.connect()
    return this.succeeds(() => retake.record(this.options, this.agent()))
  }

  get options() {
    return { name: 'simulated', dir: RUNS, durability: this.durability }
  }

  /** Records programs in one process. Whatever a run sends is on its tape before, and on disk. */
  async recordTogether(programs) {
    const sent = programs.map(() => [])
    const paths = []
    const world = connect(new World(this.seed, { loop }))
    world.onContact = (key) => {
      const run = currentRun.getStore()
      sent[run].push(key)
      this.isOnTape(paths[run], key)
    }
    const result = await this.run(() =>
      Promise.all(
        programs.map((program, run) =>
          currentRun.run(run, () => {
            const recorded = retake.record(this.options, () => runAgent(program, { tools }))
            paths[run] = tapePaths().at(-1)
            return recorded
          }),
        ),
      ),
    )
    if (!current.disk.isDead) valueOf(result)
    return { result, sent }
  }

  async recordUntilKilled(calls) {
    installMachine(this.seed)
    const world = this.connect()
    this.kill(this.random.between(1, calls))
    const result = await this.run(() => retake.record(this.options, this.agent()))
    this.revive(result)
    const path = [...current.disk.files.keys()].find((name) => name.endsWith('.tape'))
    if (isReadable(path)) return { world, path }
    this.isUntouched(world)
    return { world }
  }

  kill(call) {
    current.disk.killAt(call, this.random.pick([0, 0, 0.3, 0.9]))
  }

  /** True if the process was killed: the disk is as the next process finds it. */
  revive(result) {
    if (!current.disk.isDead) {
      current.disk.spare()
      if ('uncaught' in result) throw result.uncaught
      return false
    }
    const isPowerCut = this.durability === 'machine' && this.random.chance(0.5)
    current.disk.restart({ isPowerCut, random: this.random })
    return true
  }

  // ── promises ──────────────────────────────────────────────────────────────

  /** A tape replays: the same output in the same order, and nobody outside hears of it. */
  async replays(path, output, changed) {
    assert.notEqual(openTape(path).status, 'truncated')
    startProcess(`${this.seed} ${++this.replayed}`)
    const world = this.connect()
    const replayed = await this.succeeds(() => retake.replay(path, this.agent(changed)))
    assert.deepEqual(world.contacts, [], 'a replay reached the outside')
    if (output !== undefined) isSame(replayed.output, output)
  }

  /** Nothing leaves the process before everything it could depend on is safe. */
  isCommitted() {
    if (this.durability === 'process') return
    for (const name of current.disk.files.keys())
      // The agent might catch an error.
      if (name.endsWith('.tape') && !current.disk.isSynced(name))
        loop.fail(new Error('a request left before its tape was synced'))
  }

  /** The same for one of several runs, whose tape may go on during a sync. */
  isOnTape(path, key) {
    const { disk } = current
    const name = `${RUNS}/copy.bytes`
    const bytes =
      this.durability === 'machine' ? disk.syncedBytes(path) : Buffer.from(disk.find(path).bytes)
    disk.place(name, bytes)
    const isKnown = isReadable(name) && this.knownKeys(openTape(name)).has(key)
    disk.files.delete(name)
    if (!isKnown) loop.fail(new Error('a request left before it was on disk'))
  }

  isUntouched({ contacts }) {
    assert.deepEqual(contacts, [], 'a request left before its tape was there')
  }

  /** What a killed run left is how the run that was not killed begins. */
  isPrefix(path) {
    isPrefixOf(openTape(path), this.tape)
  }

  /** Whatever reached the outside is on the tape, even if its answer is not. */
  hasAllContacts(tape, world) {
    const known = this.knownKeys(tape)
    for (const key of world.contacts) assert.ok(known.has(key), `${key} is not on the tape`)
  }

  knownKeys(tape) {
    return new Set(readRun(tape).recordedSteps.map((step) => this.keyOf(step, tape)))
  }

  /** Each pinned step got its recorded answer, and the report says whether its request was another. */
  isReported(report, { pinned, fork, live }) {
    assert.equal(report.live, live.length, 'live steps are miscounted')
    const asked = readRun(fork).recordedSteps
    for (const step of pinned) {
      const now = asked.find(({ seq }) => seq === report.matched[step.label])
      if (now === undefined) continue
      // With other answers beside it, a program with timeouts may give up on this one.
      const isGivenUp = this.program.isTimed && now.state === 'aborted'
      if (!isGivenUp) isSame(answerOf(now), answerOf(step))
      const isForced = this.keyOf(now, fork) !== this.keyOf(step)
      assert.equal(
        report.forced.includes(step.label),
        isForced,
        `step ${step.label} is misreported`,
      )
    }
  }

  wasNotAsked({ contacts }, steps) {
    for (const step of steps)
      assert.ok(!contacts.includes(this.keyOf(step)), `served step ${step.label} was asked live`)
  }

  /** Two runs came to the same, races included, apart from drawn values. */
  isLike(output, expected) {
    isSame(output.seen, expected.seen)
  }

  keyOf(step, tape = this.tape) {
    const event = tape.event(step.seq)
    const body = Buffer.from(tape.body(step.seq)).toString()
    return event.type === 'request' ? modelKey(body) : toolKey(event.name, JSON.parse(body))
  }

  /** Answers that the lane of a step has seen. Matching a call that not every run makes is a judgement. */
  laneOf(step, seen) {
    const key = this.keyOf(step)
    const [, lane] = /(?:You are lane |"lane":"?)(\w+)/.exec(key)
    return key.startsWith('tool extra') ? [] : (seen[lane] ?? seen.at(-1))
  }

  /** A rerun serves every request with a full answer, also where ids in it are drawn. */
  isRepeatable(step) {
    return retake.searchableSteps(this.tape).some(({ seq }) => seq === step.seq)
  }

  canEdit(step) {
    if (step.state !== 'done' || readText(step) === undefined) return false
    // An edited answer is complete, even if the agent had given up on the recorded one.
    return isEnd(this.tape.event(step.answerSeqs.at(-1)))
  }
}

/** Texts are quicker to compare, and objects to explain. */
function isSame(actual, expected) {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) assert.deepEqual(actual, expected)
}

/** The text in a step's answer, if it has one. */
function readText(step) {
  if (step.kind === 'tool') return step.call()?.result?.value
  const { answer = [], response } = step.exchange() ?? {}
  return response?.status === 200 ? answer[0]?.parts[0]?.text : undefined
}

/** The answer of a step as far as an agent sees it. */
const answerOf = (step) => ({
  state: step.state,
  status: step.exchange()?.response?.status,
  text: readText(step),
})

const editOf = (step, text) =>
  step.kind === 'tool' ? { value: text } : { 'choices.0.message.content': text }

function valueOf(result) {
  if ('value' in result) return result.value
  if (result.isHanging) throw new Error('the run waits for ever')
  throw result.error ?? result.uncaught ?? new Error('the run was killed')
}

/** What a killed run left is how the run that was not killed begins. */
function isPrefixOf(killed, whole) {
  assert.ok(killed.count <= whole.count)
  for (let seq = 0; seq < killed.count; seq += 1) {
    isSame(killed.event(seq), whole.event(seq))
    assert.equal(killed.bodySha(seq), whole.bodySha(seq))
  }
}

/** In the order of their runs. */
const tapePaths = () => [...current.disk.files.keys()].filter((name) => name.endsWith('.tape'))

/** True if no request of a killed run waits for the rest of its answer. */
const hasAllEnds = (tape) =>
  readRun(tape).recordedSteps.every(({ answerSeqs }) => isEnd(tape.event(answerSeqs.at(-1) ?? 0)))

const isEnd = ({ type, part }) => type === 'result' || part === 'end' || part === 'error'

function isReadable(path) {
  try {
    openTape(path)
    return true
  } catch {
    return false
  }
}

export const cycleSeed = (seed, cycle) => hashOf(`${seed}/${cycle}`)
