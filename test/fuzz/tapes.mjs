#!/usr/bin/env node
/**
 * Tapes from strangers: changes the records of small tapes, with checksums that are right, and lets
 * everything that reads tapes read them.
 *
 *     node test/fuzz/tapes.mjs --count 1000000 --seed 7     (count: changed records)
 *     node test/fuzz/tapes.mjs --seed 7 --case 4711         (one tape again)
 *
 * Fails if a reader does not end, throws an error without a code, needs too much memory, or writes
 * outside its folder.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'

/** For all readers of one tape, on a busy machine. */
const HANG_MS = 60_000
/** Processor time of one reader for a tape of at most a few hundred KB. */
const SLOW_MS = 4000
const MEMORY_MAX_BYTES = 2.5e9

const repeat = ({ seed }, at) => `Repeat it: node test/fuzz/tapes.mjs --seed ${seed} --case ${at}`

if (process.send === undefined) await main()
else await work(JSON.parse(process.argv[2]))

async function main() {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '20000' },
      seed: { type: 'string', default: String(Date.now()) },
      case: { type: 'string' },
      only: { type: 'string' },
      keep: { type: 'string' },
      minutes: { type: 'string', default: '600' },
    },
  })
  const started = performance.now()
  // A process of its own: it can be ended when a reader does not end.
  const worker = fork(fileURLToPath(import.meta.url), [JSON.stringify(values)], {
    execArgv: [
      '--max-old-space-size=2000',
      '--max-semi-space-size=32',
      // An eighth less than the default: readers must not need all of it for what is within limits.
      '--stack-size=860',
      '--import',
      new URL('../simulation/build.mjs', import.meta.url).href,
    ],
  })
  const failures = []
  const kinds = new Set()
  let last = -1
  let since = performance.now()
  const watch = setInterval(() => {
    if (performance.now() - since < HANG_MS) return
    console.error(`A reader did not end within ${HANG_MS / 1000} s.\n${repeat(values, last)}`)
    process.exitCode = 1
    worker.kill('SIGKILL')
  }, 1000)
  worker.on('message', (message) => {
    const { failure, done } = message
    if (message.at !== undefined) {
      last = message.at
      since = performance.now()
    }
    if (failure) {
      failures.push(failure)
      // The same line of code fails for many tapes.
      const kind = failure.what.split('\n').slice(1, 4).join('\n')
      if (!kinds.has(kind)) console.error(`${failure.what}\n${repeat(values, failure.at)}\n`)
      kinds.add(kind)
    }
    if (done) {
      const seconds = ((performance.now() - started) / 1000).toFixed(0)
      console.log(
        `${done.records} changed records on ${done.tapes} tapes, ${done.reads} reads: ` +
          `${done.refused} refused with a code, ${failures.length} failures; ` +
          `slowest read ${done.slowestMs} ms (${done.slowest}), memory ${Math.round(done.memory / 1e6)} MB, ${seconds} s`,
      )
      console.log(
        `codes: ${Object.entries(done.codes)
          .map(([code, times]) => `${code} ${times}`)
          .join(', ')}`,
      )
    }
  })
  const [code, signal] = await once(worker, 'exit')
  clearInterval(watch)
  if (code !== 0) {
    console.error(`The readers ended with ${signal ?? code}.\n${repeat(values, last)}`)
    process.exitCode = 1
  }
  if (failures.length > 0) process.exitCode = 1
}

async function work({ seed, count, case: only, only: reader, keep, minutes }) {
  const { scripts, goldenTapes, encodeScript } = await import('./base-tapes.mjs')
  const mutate = await import('./mutate.mjs')
  const { READERS, importFile, isCoded } = await import('./readers.mjs')
  const { foreignFiles } = await import('./foreign-files.mjs')
  const { Seeded } = await import('../simulation/seeded.mjs')
  const { RecordEncoder } = await import('../../packages/tape/dist/format/record-encoder.js')
  const { packFrames } = await import('../../packages/tape/dist/format/pack.js')
  const { openLayout } = await import('../../packages/tape/dist/format/layout.js')
  const { nodePlatform, openTape } = await import('@retake/tape/node')
  const { Tape } = await import('@retake/tape/format')

  // Readers work far below a folder that must stay as it is: `../` leads into it.
  const root = mkdtempSync(
    path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'retake-fuzz-'),
  )
  const inside = path.join(root, 'a', 'b', 'c', 'd', 'work')
  mkdirSync(inside, { recursive: true })
  process.env.RETAKE_STATE_DIR = path.join(inside, 'state')
  process.env.XDG_STATE_HOME = path.join(inside, 'state')
  const outside = ['', 'a', 'a/b', 'a/b/c', 'a/b/c/d'].map((each) => path.join(root, each))
  const silent = () => true
  console.log = silent
  process.stdout.write = silent
  process.stderr.write = silent

  const bases = scripts()
  const golden = goldenTapes()
  const sourceOf = (bytes) => ({
    size: bytes.length,
    read: (offset, length) => bytes.subarray(offset, offset + length),
  })
  const packed = (bytes) => {
    const layout = openLayout(nodePlatform, sourceOf(bytes), 'x')
    return Buffer.concat([...packFrames(nodePlatform, layout.frames, layout.seed)])
  }
  const sealed = bases.map((drafts) => encodeScript(RecordEncoder, drafts, { isSealed: true }))
  const packs = [
    ...sealed.slice(0, 6).map(packed),
    ...golden.filter((bytes) => bytes.includes('{"pack"')),
  ]
  const plain = [...sealed, ...sealed, ...golden.filter((bytes) => !bytes.includes('{"pack"'))]
  const foreign = await foreignFiles(sealed, inside)
  for (const { name, text } of foreign.filter((each) => each.text !== undefined)) {
    const file = path.join(inside, 'foreign.json')
    writeFileSync(file, text)
    await importFile(file, path.join(inside, 'imported')).catch((error) => {
      throw new Error(`${name} is not right`, { cause: error })
    })
  }
  const imported = path.join(inside, 'imported')
  for (const name of readdirSync(imported).filter((each) => each.endsWith('.tape'))) {
    const tape = openTape(path.join(imported, name))
    const drafts = [...tape.events()]
      .filter(({ type }) => type !== 'seal')
      .map(({ seq, at, ...event }) => ({ event, at, body: Buffer.from(tape.body(seq)) }))
    bases.push(drafts)
    plain.push(encodeScript(RecordEncoder, drafts, { isSealed: true }))
  }
  rmSync(imported, { recursive: true })
  rmSync(path.join(inside, 'foreign.json'))
  // Each bases must itself be right, or nothing is tested.
  for (const bytes of [...sealed, ...packs])
    if (!Tape.open(nodePlatform, sourceOf(bytes), 'base').verify().ok)
      throw new Error('a base is damaged')

  const done = {
    tapes: 0,
    records: 0,
    reads: 0,
    refused: 0,
    slowestMs: 0,
    slowest: '',
    memory: 0,
    codes: {},
  }
  const fail = (at, what) => process.send({ failure: { at, what } })

  /** Files of a case, the one to read last, and how many of their records were changed. */
  function makeCase(random) {
    const roll = random.next()
    const name = 'run-1.tape'
    if (roll < 0.45) {
      const { drafts, count: changed } = mutate.mutateScript(random, random.pick(bases))
      const bytes = encodeScript(RecordEncoder, drafts, { isSealed: random.chance(0.7) })
      return { files: [[name, bytes]], changed }
    }
    if (roll < 0.75) {
      const { bytes, count: changed } = mutate.mutateRecords(random, random.pick(plain))
      return { files: [[name, bytes]], changed }
    }
    if (roll < 0.82) {
      const { bytes, count: changed } = mutate.mutatePacked(random, random.pick(packs))
      return { files: [[name, bytes]], changed }
    }
    if (roll < 0.84) {
      const { bytes, count: changed } = mutate.mutateIndex(
        random,
        random.pick([...plain, ...packs]),
      )
      return { files: [[name, bytes]], changed }
    }
    if (roll < 0.9)
      return {
        files: [[name, mutate.mutateBytes(random, random.pick([...plain, ...packs]))]],
        changed: 1,
      }
    // A branch, and the run that it continues; either may be changed.
    const above = random.pick(bases)
    const parentBytes = encodeScript(RecordEncoder, above, { isSealed: true })
    const link = { run: 'run-1', seq: random.between(1, above.length - 1), chain: '' }
    link.chain = Tape.open(nodePlatform, sourceOf(parentBytes), 'p').chainAt(link.seq - 1)
    const tail = random
      .pick(bases)
      .slice(-random.between(1, 12))
      .map(({ event, body }) => ({
        event: 'op' in event ? { ...event, op: random.between(1, link.seq) } : event,
        body,
      }))
    const details = {
      ...JSON.parse(above[0].body),
      branch: {
        kind: 'fork',
        at: '2',
        edits: [{ target: 'answer', path: 'a', value: 1 }],
        tail: 'live',
      },
    }
    const start = {
      event: { ...above[0].event, id: 'run-2', parent: link },
      body: Buffer.from(JSON.stringify(details)),
    }
    const own = mutate.mutateScript(random, [start, ...tail, ...tail])
    const branch = encodeScript(RecordEncoder, own.drafts, { isSealed: random.chance(0.5) })
    const changedParent = random.chance(0.3)
      ? mutate.mutateRecords(random, parentBytes)
      : { bytes: parentBytes, count: 0 }
    return {
      files: [
        [name, changedParent.bytes],
        [random.chance(0.05) ? name : 'run-2.tape', branch],
      ],
      changed: own.count + changedParent.count,
    }
  }

  /** The first cases of every seed: deep values in all bodies, for all readers. */
  const [talk, operations, , , command, spans, redacted] = bases
  const deepCases = mutate.LEVELS.flatMap((levels) =>
    [talk, operations, command, spans, redacted].map((base) => [base, levels]),
  )

  function deepCase(random, at) {
    const [base, levels] = deepCases[at]
    const drafts = mutate.deepScript(random, base, levels)
    return {
      files: [['run-1.tape', encodeScript(RecordEncoder, drafts, { isSealed: true })]],
      changed: drafts.filter((draft, index) => draft !== base[index]).length,
    }
  }

  /** What is nested too deeply to be made here is no test of the readers. */
  function caseOf(random) {
    try {
      return makeCase(random)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return { files: [['run-1.tape', mutate.mutateBytes(random, random.pick(plain))]], changed: 1 }
    }
  }

  async function timed(at, name, read) {
    const start = process.cpuUsage()
    done.reads++
    try {
      await read()
    } catch (error) {
      noted(at, name, error)
    }
    const { user, system } = process.cpuUsage(start)
    const ms = Math.round((user + system) / 1000)
    if (ms > done.slowestMs) {
      done.slowestMs = ms
      done.slowest = `${name}, case ${at}`
    }
    if (ms > SLOW_MS) fail(at, `${name} took ${ms} ms.`)
  }

  function noted(at, name, error) {
    if (isCoded(error)) {
      done.refused++
      done.codes[error.code] = (done.codes[error.code] ?? 0) + 1
    } else fail(at, `${name}: an error without a code.\n${error?.stack ?? error}`)
  }

  const first = only === undefined ? 0 : Number(only)
  const until = performance.now() + Number(minutes) * 60_000
  const isDue = (at) => done.records < Number(count) && (at % 20 > 0 || performance.now() < until)
  for (let at = first; only === undefined ? isDue(at) : at === first; at++) {
    process.send({ at })
    const random = new Seeded(`${seed}:${at}`)
    const folder = path.join(inside, 'case')
    const runs = path.join(folder, 'runs')
    const out = path.join(folder, 'out')
    mkdirSync(runs, { recursive: true })
    mkdirSync(out)
    process.chdir(folder)
    const isDeep = at < deepCases.length
    if (!isDeep && random.chance(0.04)) {
      const { name, text, bytes } = random.pick(foreign)
      const file = path.join(runs, name)
      writeFileSync(
        file,
        bytes ? mutate.mutateBytes(random, bytes) : mutate.mutateJson(random, text),
      )
      done.records++
      await timed(at, `import ${name}`, () => importFile(file, path.join(out, 'imported')))
    } else {
      const { files, changed } = isDeep ? deepCase(random, at) : caseOf(random)
      for (const [name, bytes] of files) writeFileSync(path.join(runs, name), bytes)
      if (keep) for (const [name, bytes] of files) writeFileSync(path.join(keep, name), bytes)
      const file = path.join(runs, files.at(-1)[0])
      done.records += changed
      const other = path.join(inside, 'other.tape')
      if (at === first) writeFileSync(other, sealed[0])
      for (const [name, { share, read }] of Object.entries(READERS)) {
        if (
          reader === undefined
            ? !isDeep && only === undefined && !random.chance(1 / share)
            : name !== reader
        )
          continue
        const check = (ask) => {
          try {
            ask()
          } catch (error) {
            noted(at, name, error)
          }
        }
        await timed(at, name, () => read(file, { out, other, check }))
      }
    }
    done.tapes++
    const wrong = outside.flatMap((each) =>
      readdirSync(each).filter((name) => !['a', 'b', 'c', 'd', 'work'].includes(name)),
    )
    const beside = readdirSync(inside).filter(
      (name) => !['case', 'other.tape', 'state'].includes(name),
    )
    const inRuns = readdirSync(folder).filter((name) => !['runs', 'out', '.retake'].includes(name))
    if (wrong.length + beside.length + inRuns.length > 0)
      fail(at, `Something was written outside: ${[...wrong, ...beside, ...inRuns].join(', ')}`)
    if (at % 50 === 0) {
      done.memory = Math.max(done.memory, process.memoryUsage.rss())
      if (done.memory > MEMORY_MAX_BYTES)
        fail(at, `The process has ${Math.round(done.memory / 1e6)} MB.`)
    }
    process.chdir(inside)
    rmSync(folder, { recursive: true, force: true })
  }
  rmSync(root, { recursive: true, force: true })
  await new Promise((resolve) => process.send({ done }, resolve))
  process.disconnect()
}
