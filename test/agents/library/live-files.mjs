// Records, forks and resumes agents that work on files, and reports what they saw
// as JSON in its last line on stdout. Each function is one story; the task names it.
import { createHash } from 'node:crypto'
import fs, { promises as fsp } from 'node:fs'
import path from 'node:path'
import { fork, overlayChanges, record, resume, rerun, replay, tool } from '@retake/engine'
import { openTape, TapeWriter } from '@retake/tape/node'
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
  const rs = fs
    .createReadStream('in.txt', { highWaterMark: 4, encoding: 'utf8' })
    [Symbol.asyncIterator]()
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

  /** The tape gets the number that the agent holds for a file of its own. */
  async collision() {
    const step = tool('step', () => 'x')
    const agent = async () => {
      const fds = Array.from({ length: 30 }, (_, index) => fs.openSync(`${index}.txt`, 'w'))
      const handle = await fsp.open('handle.txt', 'w')
      for (const fd of fds) fs.writeSync(fd, 'served ')
      await step()
      for (const fd of fds) fs.writeSync(fd, 'live')
      fs.ftruncateSync(fds[0], 3)
      await handle.writeFile('by handle')
      for (const fd of fds.slice(0, 10)) fs.closeSync(fd)
      for (const fd of fds.slice(0, 10)) {
        try {
          fs.writeSync(fd, 'too late')
          return 'a closed descriptor was written to'
        } catch {}
      }
      setTimeout(() => fs.writeSync(fds[20], ', late'), 20)
      return [...fds, handle.fd]
    }
    const recorded = await record(options, agent)
    for (const name of fs.readdirSync('.'))
      if (/^\d+\.txt$/.test(name)) fs.writeFileSync(name, 'served ')
    // Pushes the tape's own descriptor into the middle of those that the agent holds.
    for (let index = 0; index < 8; index++) fs.openSync('/dev/null')
    const tape = task.resume
      ? cut(recorded.run.path, startOf(recorded.run.path, 1))
      : recorded.run.path
    let own
    const spy = tool('step', () => {
      for (const fd of fs.readdirSync('/proc/self/fd')) {
        try {
          const target = fs.readlinkSync(`/proc/self/fd/${fd}`)
          if (target.endsWith('.tape')) own = Number(fd)
        } catch {}
      }
      return 'x'
    })
    const again = async () => {
      const fds = await (0, agentWith)(spy)
      return fds
    }
    const agentWith = (stepper) => {
      const code = agent.toString().replace('await step()', 'await stepper()')
      return new Function('fs', 'fsp', 'stepper', `return (${code})()`)(fs, fsp, stepper)
    }
    const result = task.resume ? await resume(tape, again) : await fork(tape, again, { at: 1 })
    await new Promise((resolve) => setTimeout(resolve, 60))
    const written = openTape(result.run.path)
    return {
      collides: result.output.includes(own),
      verified: written.verify().problem ?? written.status,
      files: task.resume
        ? texts(['0.txt', '1.txt', '20.txt', '29.txt', 'handle.txt'])
        : changes(result.run.path),
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
