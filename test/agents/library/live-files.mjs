// Records, forks and resumes agents that work on files, and reports what they saw
// as JSON in its last line on stdout. Each function is one story; the task names it.
import { createHash } from 'node:crypto'
import fs, { promises as fsp } from 'node:fs'
import { spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fork, record, replay, rerun, resume, tool } from '@retake/engine'
import { discardOverlay, keepOverlay, overlayChanges } from '@retake/engine/plans'
import { openOwnTape, openTape, TapeWriter } from '@retake/tape/node'
import * as battery from './live-files-battery.mjs'

const { story, ...task } = JSON.parse(process.argv[2])
const options = { name: 'story', dir: 'runs' }
const copy = {
  recursive: true,
  verbatimSymlinks: true,
  filter: (name) => !/(^|\/)(runs|node_modules)$/.test(name),
}

/** Keeps the folder as it is at this moment; `restore` puts it back. */
const keep = (name) => fs.cpSync('.', `../${name}`, copy)
function restore(name) {
  for (const entry of fs.readdirSync('.'))
    if (!/^(runs|node_modules)$/.test(entry)) fs.rmSync(entry, { recursive: true })
  fs.cpSync(`../${name}`, '.', copy)
}

function digest(folder = '.') {
  const hash = createHash('sha256')
  for (const name of fs.readdirSync(folder, { recursive: true }).toSorted()) {
    if (/^(runs|node_modules)/.test(name)) continue
    const place = path.join(folder, name)
    const stat = fs.lstatSync(place)
    hash.update(JSON.stringify([name, stat.mode, stat.isDirectory() ? 0 : stat.mtimeMs, stat.ino]))
    if (stat.isFile()) hash.update(fs.readFileSync(place))
  }
  return hash.digest('hex')
}

/** A copy of a tape that ends before event `until`, as a kill leaves it. */
function cut(file, until) {
  const tape = openTape(file)
  const id = `${tape.run.id}-cut`
  const to = path.join('runs', `${id}.tape`)
  const writer = TapeWriter.create(to, { ...tape.run, id }, tape.details)
  for (const { seq, at: _, ...event } of tape.events(1, until)) writer.append(event, tape.body(seq))
  writer.close()
  return to
}

/** The same for a branch, at its second step, with its files as they are. */
async function cutBranch(file) {
  const tape = openOwnTape(file)
  const id = `${tape.run.id}-cut`
  const to = path.join('runs', `${id}.tape`)
  const last = [...tape.events(1)].findLast(
    ({ type, kind }) => type === 'call' && kind === 'tool',
  ).seq
  const writer = TapeWriter.create(to, { ...tape.run, id }, tape.details)
  for (const { seq, at: _, ...event } of tape.events(1, last)) writer.append(event, tape.body(seq))
  writer.close()
  const filesOf = (name) => name.replace(/\.tape$/, '.files')
  // Not `cpSync`: on Node 24 it gives copied folders other modes.
  await fs.promises.cp(filesOf(file), filesOf(to), { recursive: true })
  return to
}

/** The number of the event that starts the step with this number. */
const startOf = (file, number) =>
  [...openTape(file).events()].filter(({ type, kind }) => type === 'call' && kind === 'tool')[
    number - 1
  ].seq

const notes = (file) =>
  [...openTape(file).events()].flatMap(({ type, name, text }) =>
    type === 'note' ? [`${name}: ${text}`] : [],
  )

/** What a branch would change, by path below the folder it ran in. */
const changes = (file) =>
  overlayChanges(file.replace(/\.tape$/, '.files')).map(
    ({ path: place, kind, from, sizeBefore, sizeAfter }) => ({
      path: path.relative('.', place),
      kind,
      ...(sizeBefore !== undefined && { sizeBefore }),
      ...(sizeAfter !== undefined && { sizeAfter }),
      ...(from && fs.lstatSync(from).isFile() && { text: fs.readFileSync(from, 'utf8') }),
    }),
  )

const texts = (names) =>
  Object.fromEntries(names.map((name) => [name, fs.readFileSync(name, 'utf8')]))

const FILES = ['w.txt', 'wx.txt', 'a.txt', 'cb.txt', 'h.txt', 'ws.txt', 'as.txt', 'hs.txt']

/** Holds every kind of handle while it waits for a step. */
async function handles(step) {
  const got = {}
  const bytes = Buffer.alloc(3)
  const r = fs.openSync('in.txt', 'r')
  fs.readSync(r, bytes)
  const fds = {
    w: fs.openSync('w.txt', 'w'),
    wx: fs.openSync('wx.txt', 'wx'),
    a: fs.openSync('a.txt', 'a'),
  }
  for (const fd of Object.values(fds)) fs.writeSync(fd, 'one ')
  const cb = await new Promise((resolve, reject) =>
    fs.open('cb.txt', 'w+', (error, fd) => (error ? reject(error) : resolve(fd))),
  )
  await new Promise((resolve) => fs.write(cb, 'one ', resolve))
  const h = await fsp.open('h.txt', 'w+')
  await h.write('one ')
  const hr = await fsp.open('in.txt')
  await hr.read(Buffer.alloc(5))
  const hs = (await fsp.open('hs.txt', 'w')).createWriteStream()
  await new Promise((resolve) => hs.write('one ', resolve))
  const ws = fs.createWriteStream('ws.txt')
  await new Promise((resolve) => ws.write('one ', resolve))
  const as = fs.createWriteStream('as.txt', { flags: 'a' })
  await new Promise((resolve) => as.write('one ', resolve))
  const slow = fs.createReadStream('in.txt', { highWaterMark: 4, encoding: 'utf8' })
  const rs = slow[Symbol.asyncIterator]()
  const first = (await rs.next()).value
  const dir = fs.opendirSync('dir')
  const dirs = [dir.readSync().name]
  const later = await fsp.opendir('dir')
  const laters = [(await later.read()).name]
  fs.closeSync(fs.openSync('in.txt', 'r'))

  const word = await step('word')

  got.r = fs.readSync(r, bytes) + bytes.toString()
  got.at = fs.readSync(r, bytes, 0, 2, 0) + bytes.toString()
  for (const fd of Object.values(fds)) fs.writeSync(fd, word)
  await new Promise((resolve) => fs.write(cb, word, resolve))
  got.stat = fs.fstatSync(fds.w).size
  fs.writeSync(cb, 'O', 0)
  got.cb = fs.readFileSync('cb.txt', 'utf8')
  await h.write(word)
  const all = Buffer.alloc(20)
  got.h = all.toString('utf8', 0, (await h.read(all, 0, 20, 0)).bytesRead)
  got.hr = await hr.readFile('utf8')
  for (const stream of [ws, as, hs]) {
    stream.end(word)
    await new Promise((resolve) => stream.on('close', resolve))
  }
  got.rs = first
  for (let next = await rs.next(); !next.done; next = await rs.next()) got.rs += next.value
  for (let entry = dir.readSync(); entry !== null; entry = dir.readSync()) dirs.push(entry.name)
  for await (const { name } of later) laters.push(name)
  dir.closeSync()
  got.dirs = [dirs, laters].map((names) => names.toSorted().join())
  const fresh = fs.openSync('in.txt', 'r')
  got.isFree = ![r, cb, h.fd, hr.fd, ...Object.values(fds)].includes(fresh)
  got.fresh = fs.readFileSync(fresh, 'utf8')
  for (const fd of [fresh, r, cb, ...Object.values(fds)]) fs.closeSync(fd)
  await h.close()
  await hr.close()
  try {
    fs.writeSync(fds.w, 'too late')
  } catch ({ code, syscall }) {
    got.late = [code, syscall]
  }
  return got
}

function prepareHandles() {
  fs.writeFileSync('in.txt', '0123456789')
  fs.mkdirSync('dir')
  for (const name of ['a', 'b', 'c', 'd']) fs.writeFileSync(`dir/${name}`, '')
}

const stories = {
  async resumeHandles() {
    prepareHandles()
    const step = tool('step', () => (fs.existsSync('../atStep') || keep('atStep'), 'two'))
    const recorded = await record(options, () => handles(step))
    const complete = texts(FILES)
    restore('atStep')
    const tape = cut(recorded.run.path, startOf(recorded.run.path, 1))
    const resumed = await resume(tape, () => handles(step))
    const replayed = await replay(tape, () => handles(step))
    return {
      complete,
      recorded: recorded.output,
      resumed: resumed.output,
      replayed: replayed.output,
      files: texts(FILES),
      status: openTape(tape).verify().problem ?? openTape(tape).status,
    }
  },

  async forkHandles() {
    prepareHandles()
    const step = tool('step', () => 'two')
    const recorded = await record(options, () => handles(step))
    const before = digest()
    const { run, output } = await fork(recorded.run.path, () => handles(step), {
      at: 1,
      set: { value: 'three' },
    })
    return {
      recorded: recorded.output,
      forked: output,
      untouched: digest() === before,
      changes: changes(run.path),
      replayed: (await replay(run.path, () => handles(step))).output,
    }
  },

  /** The tape gets a number that the agent holds for a file of its own. */
  async collision() {
    fs.writeFileSync('in.txt', 'input')
    let isOver
    const over = () => new Promise((resolve) => (isOver = resolve))
    const agent = (step) => async () => {
      const fds = Array.from({ length: 30 }, (_, index) => fs.openSync(`${index}.txt`, 'w'))
      const handle = await fsp.open('handle.txt', 'w')
      const readers = Array.from({ length: 30 }, () => fs.openSync('in.txt', 'r'))
      for (const fd of fds) fs.writeSync(fd, 'served ')
      await step()
      for (const fd of fds) fs.writeSync(fd, 'live')
      fs.ftruncateSync(fds[0], 3)
      await handle.writeFile('by handle')
      for (const fd of fds.slice(0, 10)) fs.closeSync(fd)
      let refused = 0
      for (const fd of [...readers, ...fds.slice(0, 10)]) {
        try {
          fs.writeSync(fd, 'over the tape')
        } catch {
          refused += 1
        }
      }
      const read = readers.filter((fd) => fs.readFileSync(fd, 'utf8') === 'input').length
      setTimeout(() => {
        fs.writeSync(fds[20], ', late')
        isOver()
      }, 20)
      return { numbers: [...fds, handle.fd, ...readers], refused, read }
    }
    let late = over()
    const recorded = await record(options, agent(tool('step', () => 'x')))
    await late
    for (const fd of recorded.output.numbers.slice(10)) fs.closeSync(fd)
    for (const name of fs.readdirSync('.'))
      if (/^\d+\.txt$/.test(name)) fs.writeFileSync(name, 'served ')
    // Pushes the tape's own descriptor into the middle of those that the agent holds.
    for (let index = 0; index < 8; index++) fs.openSync('/dev/null')
    let own
    const spy = tool('step', () => {
      own = fs.readdirSync('/proc/self/fd').find((fd) => {
        try {
          return fs.readlinkSync(`/proc/self/fd/${fd}`).endsWith('.tape')
        } catch {
          return false
        }
      })
      return 'x'
    })
    const { path: tape } = recorded.run
    late = over()
    const { output, run } = task.resume
      ? await resume(cut(tape, startOf(tape, 1)), agent(spy))
      : await fork(tape, agent(spy), { at: 1 })
    await late
    const written = openTape(run.path)
    const names = ['0.txt', '1.txt', '20.txt', '29.txt', 'handle.txt']
    return {
      collides: output.numbers.includes(Number(own)),
      refused: output.refused,
      read: output.read,
      verified: written.verify().problem ?? written.status,
      files: task.resume
        ? texts(names)
        : Object.fromEntries(
            changes(run.path).flatMap(({ path: name, text }) =>
              names.includes(name) ? [[name, text]] : [],
            ),
          ),
    }
  },

  /** What tools write is not on the tape, and belongs to the branch all the same. */
  async tools() {
    fs.writeFileSync('notes.txt', 'zero')
    const write = tool('write', async (text) => {
      await fsp.appendFile('notes.txt', ` ${text}`)
      const handle = await fsp.open('handle.txt', 'a')
      await handle.write(text)
      await handle.close()
      const stream = fs.createWriteStream('stream.txt', { flags: 'a' })
      stream.end(text)
      await new Promise((resolve) => stream.on('close', resolve))
      return fs.readFileSync('notes.txt', 'utf8')
    })
    let isOver
    const over = () => new Promise((resolve) => (isOver = resolve))
    const agent = async () => {
      const log = fs.openSync('log.txt', 'w')
      fs.writeSync(log, 'served ')
      const results = [await write('one'), await write('two')]
      const direct = tool('direct', () => fs.writeSync(log, 'live'))
      await direct()
      fs.closeSync(log)
      setTimeout(() => {
        fs.writeFileSync('left-behind.txt', 'late')
        isOver()
      }, 20)
      return [...results, fs.readFileSync('notes.txt', 'utf8')]
    }
    let late = over()
    const recorded = await record(options, agent)
    await late
    fs.rmSync('left-behind.txt')
    const before = digest()
    late = over()
    const { output, run } = await fork(recorded.run.path, agent, { at: 2 })
    await late
    return {
      recorded: recorded.output,
      forked: output,
      untouched: digest() === before,
      changes: changes(run.path),
    }
  },

  async watchers() {
    fs.mkdirSync('dir')
    fs.writeFileSync('polled.txt', 'x')
    const agent = (step) => async () => {
      const seen = []
      const watcher = fs.watch('dir', (type, name) => seen.push(name))
      const controller = new AbortController()
      const later = (async () => {
        for await (const { filename } of fsp.watch('dir', { signal: controller.signal }))
          return filename
      })()
      let polled
      fs.watchFile('polled.txt', { interval: 10 }, ({ size }) => (polled = size))
      const word = await step()
      fs.writeFileSync(`dir/${word}.txt`, '')
      const first = await later
      const isOver = () => seen.includes(`${word}.txt`) && polled === 7
      // Polling may begin after a change.
      for (let tries = 0; tries < 200 && !isOver(); tries++) {
        if (tries % 10 === 0) fs.writeFileSync('polled.txt', 'changed')
        await sleep(10)
      }
      watcher.close()
      fs.unwatchFile('polled.txt')
      return { first, seen: seen.includes(`${word}.txt`), polled }
    }
    const steps = (word) => tool('step', () => word)
    const recorded = await record(options, agent(steps('one')))
    const tape = cut(recorded.run.path, startOf(recorded.run.path, 1))
    fs.writeFileSync('polled.txt', 'x')
    const resumed = await resume(tape, agent(steps('two')))
    fs.writeFileSync('polled.txt', 'x')
    const before = digest()
    const forked = await fork(recorded.run.path, agent(steps('one')), {
      at: 1,
      set: { value: 'three' },
    })
    return {
      recorded: recorded.output,
      resumed: resumed.output,
      forked: forked.output,
      untouched: digest() === before,
      replayed: (await replay(forked.run.path, agent(steps('one')))).output,
    }
  },

  /** Two branches at once, from a disk on which the parent has gone on. */
  async twoForks() {
    fs.writeFileSync('log.txt', 'before\n')
    const step = tool('step', (word) => word)
    const agent = async () => {
      fs.appendFileSync('log.txt', 'one\n')
      fs.writeFileSync('state.json', '1')
      const word = await step('two')
      fs.appendFileSync('log.txt', `${word}\n`)
      await sleep(Math.random() * 10)
      const before = fs.readFileSync('state.json', 'utf8')
      fs.writeFileSync('state.json', word)
      const made = fs.existsSync('made')
      if (!made) fs.mkdirSync('made')
      fs.writeFileSync(`made/${word}`, '')
      const peek = fs.existsSync('other.txt') && fs.readFileSync('other.txt', 'utf8')
      fs.writeFileSync('other.txt', word)
      await step('three')
      return { log: fs.readFileSync('log.txt', 'utf8'), before, made: fs.readdirSync('made'), peek }
    }
    const recorded = await record(options, agent)
    const before = digest()
    const forkWith = (value) => fork(recorded.run.path, agent, { at: 1, set: { value } })
    const [a, b] = await Promise.all([forkWith('A'), forkWith('B')])
    const third = await fork(a.run.path, agent, { at: 2, set: { value: 'C' } })
    const resumable = await cutBranch(a.run.path)
    const resumed = await resume(resumable, agent)
    const replays = await Promise.all(
      [a, b, third].map(async ({ run }) => (await replay(run.path, agent)).output),
    )
    return {
      recorded: recorded.output,
      outputs: [a, b, third, resumed].map(({ output }) => output),
      replays,
      untouched: digest() === before,
      changes: [a, b, third].map(({ run }) => changes(run.path)),
      resumed: changes(resumed.run.path),
      notes: notes(a.run.path)
        .filter((note) => note.includes('parent run wrote'))
        .map((note) => note.replaceAll(process.cwd(), '.')),
    }
  },

  /** What was open is no longer there when the run goes on. */
  async missing() {
    fs.writeFileSync('gone.txt', 'gone')
    fs.writeFileSync('kept.txt', 'kept')
    const step = tool('step', () => 'x')
    const agent = async () => {
      const gone = fs.openSync('gone.txt', 'r')
      const kept = fs.openSync('kept.txt', 'r+')
      const removed = fs.openSync('kept.txt', 'r')
      const unused = fs.openSync('kept.txt', 'r+')
      await step()
      const seen = []
      try {
        seen.push(fs.readFileSync(gone, 'utf8'))
      } catch ({ code, syscall, message }) {
        seen.push(code, syscall, message)
      }
      fs.closeSync(gone)
      fs.closeSync(unused)
      try {
        fs.writeSync(unused, 'too late')
      } catch ({ code }) {
        seen.push(code)
      }
      fs.renameSync('kept.txt', 'moved.txt')
      fs.writeSync(kept, 'K')
      fs.unlinkSync('moved.txt')
      seen.push(fs.readFileSync(removed, 'utf8'))
      fs.closeSync(kept)
      fs.closeSync(removed)
      return seen
    }
    const recorded = await record(options, agent)
    fs.writeFileSync('kept.txt', 'kept')
    fs.rmSync('gone.txt')
    const tape = cut(recorded.run.path, startOf(recorded.run.path, 1))
    const resumed = await resume(tape, agent)
    return {
      recorded: recorded.output,
      resumed: resumed.output,
      notes: notes(tape),
      left: fs.readdirSync('.'),
    }
  },

  /** A child gets the file behind a descriptor, and works on the disk. */
  async children() {
    const step = tool('step', () => 'x')
    const agent = async () => {
      const log = fs.openSync('log.txt', 'w')
      fs.writeSync(log, 'served ')
      await step()
      const child = spawn(process.execPath, ['-e', 'console.log("child")'], {
        stdio: ['ignore', log, log],
      })
      await new Promise((resolve) => child.on('close', resolve))
      spawnSync(process.execPath, ['-e', 'console.log("second")'], { stdio: ['ignore', log, log] })
      fs.closeSync(log)
      return fs.readFileSync('log.txt', 'utf8')
    }
    const recorded = await record(options, agent)
    const before = digest()
    const { output, run } = await fork(recorded.run.path, agent, { at: 1 })
    return {
      recorded: recorded.output,
      forked: output,
      untouched: digest() === before,
      notes: notes(run.path),
    }
  },

  async rerunChanged() {
    const agent = (word) => async () => {
      fs.writeFileSync('a.txt', 'same')
      fs.writeFileSync('b.txt', word)
      return [fs.readFileSync('a.txt', 'utf8'), fs.readFileSync('b.txt', 'utf8')]
    }
    const recorded = await record(options, agent('one'))
    fs.rmSync('a.txt')
    const before = digest()
    await rerun(recorded.run.path, agent('one'))
    const left = fs.readdirSync('runs').filter((name) => name.endsWith('.files'))
    const { output, run } = await rerun(recorded.run.path, agent('two'))
    return { left, output, untouched: digest() === before, changes: changes(run.path) }
  },

  /** What becomes of the files of a branch when it is over. */
  async outcome() {
    for (const name of ['changed', 'deleted', 'same']) fs.writeFileSync(`${name}.txt`, name)
    fs.mkdirSync('folder')
    fs.writeFileSync('folder/inside.txt', 'inside')
    const step = tool('step', () => 'x')
    const agent = async () => {
      if ((await step()) === 'x') return
      fs.writeFileSync('changed.txt', 'other')
      fs.writeFileSync('same.txt', 'same')
      fs.rmSync('deleted.txt')
      fs.rmSync('folder', { recursive: true })
      fs.mkdirSync('added/deep', { recursive: true })
      fs.writeFileSync('added/deep/new.txt', 'new', { mode: 0o600 })
      fs.symlinkSync('deep/new.txt', 'added/link')
    }
    const recorded = await record(options, agent)
    const { run } = await fork(recorded.run.path, agent, { at: 1, set: { value: 'y' } })
    const folder = run.path.replace(/\.tape$/, '.files')
    // A kill in the middle of a line.
    fs.appendFileSync(path.join(folder, 'hidden.jsonl'), '{"hide":"/')
    const before = digest()
    const list = changes(run.path)
    keepOverlay(folder, '../kept')
    const aside = fs.readdirSync('../kept', { recursive: true }).toSorted()
    const untouched = digest() === before
    keepOverlay(folder)
    const now = fs
      .readdirSync('.', { recursive: true })
      .filter((name) => !/^(runs|node_modules)/.test(name))
    const differences = overlayChanges(folder).length
    discardOverlay(folder)
    let code
    try {
      overlayChanges(folder)
    } catch (error) {
      code = error.code
    }
    return {
      list,
      aside,
      untouched,
      now: now.toSorted(),
      link: fs.readFileSync('added/link', 'utf8'),
      mode: fs.statSync('added/deep/new.txt').mode & 0o777,
      differences,
      isGone: !fs.existsSync(folder),
      code,
    }
  },

  async battery() {
    battery.prepare()
    keep('atStart')
    const step = tool('step', () => (fs.existsSync('../atStep') || keep('atStep'), 'x'))
    const agent = async () => {
      const folder = await battery.before()
      await step()
      return battery.after(folder)
    }
    const recorded = await record(options, agent)
    const states = {}
    for (const state of ['atStart', 'atStep']) {
      restore(state)
      const before = digest()
      const { run, output } = await fork(recorded.run.path, agent, { at: 1 })
      states[state] = {
        output,
        untouched: digest() === before,
        replayed: JSON.stringify((await replay(run.path, agent)).output) === JSON.stringify(output),
      }
    }
    return { recorded: recorded.output, ...states }
  },
}

const result = await stories[story]()
console.log(`\n${JSON.stringify(result)}`)
