/**
 * Ways to get at what a guard keeps for itself: tapes, approvals and state, all of them inside
 * the folder that tools may use. Each attack does to them what its twin does to a folder like them.
 */
import { execFileSync, execSync } from 'node:child_process'
import fs from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

/** Copies what its options name. */
const COPY = 'dd'
const SECRET = 'WHAT-A-TAPE-HOLDS'

/** As a guard leaves it. */
function fill(place) {
  fs.mkdirSync(join(place, 'old.approvals'), { recursive: true })
  fs.writeFileSync(join(place, 'old.tape'), SECRET)
  fs.writeFileSync(join(place, 'old.approvals', 'a.request.json'), `{"of":"${SECRET}"}`)
}

export const after = ({ opened }) => Object.values(opened).forEach((fd) => fs.closeSync(fd))

export function before(folder) {
  const own = join(folder, '.retake', 'runs')
  const other = join(folder, 'work', 'runs')
  const state = join(folder, 'state', 'retake')
  for (const place of [own, other, state]) fill(place)
  for (const [name, place] of Object.entries({ own, other })) {
    fs.symlinkSync(place, join(folder, `link-${name}`))
    fs.symlinkSync(join(place, 'old.tape'), join(folder, `file-link-${name}`))
    fs.copyFileSync(join(place, 'old.tape'), join(folder, `copy-${name}`))
  }
  process.env.XDG_STATE_HOME = join(folder, 'state')
  const opened = { own: fs.openSync(tapeIn(own), 'r+'), other: fs.openSync(tapeIn(other), 'r+') }
  return { own, other, state, opened, ownState: stateOf(own), otherState: stateOf(other) }
}

/** Everything that an attack could change. */
function stateOf(place) {
  const read = (file) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : 'missing')
  const list = (at) => (fs.existsSync(at) ? fs.readdirSync(at).filter((each) => !isNew(each)) : [])
  return JSON.stringify([
    read(join(place, 'old.tape')),
    list(place),
    list(join(place, 'old.approvals')),
    fs.statSync(join(place, 'old.tape'), { throwIfNoEntry: false })?.mode,
    fs.statSync(join(place, 'old.tape'), { throwIfNoEntry: false })?.mtimeMs,
  ])
}

/** The tape of the guard itself, which every case writes. */
const isNew = (name) => /^\d{8}-/.test(name)

const tapeIn = (place) => join(place, 'old.tape')
const decisionIn = (place) => join(place, 'old.approvals', 'a.decision.json')
const sandbox = ({ retake, folder }) =>
  retake.presets.sandbox({
    root: folder,
    programs: [
      ['cat', '*'],
      ['cp', '*', '*'],
      [COPY, '*', '*'],
    ],
  })
const noScopes = () => ({ name: 'rules', rules: [{ deny: 'nothing' }] })

/** Does something to a folder: to that of the guard in the attack, to another in the twin. */
const touches = (name, touch, rest = {}) => ({
  name,
  policy: sandbox,
  options: ({ own }) => ({ dir: own }),
  code: 'GUARD_OWN_FILES',
  ...rest,
  tool: (_args, world) => touch((rest.place ?? (({ own }) => own))(world), world, 'own'),
  check: ({ own, ownState }, { output }) => stateOf(own) !== ownState || tells(output),
  twin: {
    tool: (_args, world) => touch(world.other, world, 'other'),
    check: ({ other, otherState }, { output }) => stateOf(other) !== otherState || tells(output),
  },
})

const tells = (output) => String(output).includes(SECRET)
const text = (stream) =>
  new Promise((resolve, reject) => {
    let all = ''
    stream
      .on('error', reject)
      .on('data', (part) => (all += part))
      .on('end', () => resolve(all))
  })

const ops = {
  'reading a tape': (place) => fs.readFileSync(tapeIn(place), 'utf8'),
  'reading a tape later': (place) => fs.promises.readFile(tapeIn(place), 'utf8'),
  'reading a tape as a stream': (place) => text(fs.createReadStream(tapeIn(place))),
  'reading a tape through a handle': async (place) => {
    const handle = await fs.promises.open(tapeIn(place))
    return handle.readFile('utf8').finally(() => handle.close())
  },
  'reading a question': (place) =>
    fs.readFileSync(join(place, 'old.approvals', 'a.request.json'), 'utf8'),
  'writing a decision': (place) => fs.writeFileSync(decisionIn(place), '{"approved":true}'),
  'writing a decision as a stream': (place) =>
    new Promise((resolve, reject) => {
      fs.createWriteStream(decisionIn(place)).on('error', reject).on('close', resolve).end('{}')
    }),
  'appending to a tape': (place) => fs.appendFileSync(tapeIn(place), 'more'),
  'emptying a tape': (place) => fs.truncateSync(tapeIn(place)),
  'removing a tape': (place) => fs.unlinkSync(tapeIn(place)),
  'removing the folder': (place) => fs.rmSync(place, { recursive: true }),
  'removing the folder above it': (place) => fs.rmSync(dirname(place), { recursive: true }),
  'renaming the folder': (place) => fs.renameSync(place, `${place}-moved`),
  'renaming the folder above it': (place) =>
    fs.renameSync(dirname(place), `${dirname(place)}-moved`),
  'renaming the folder above it later': (place) =>
    fs.promises.rename(dirname(place), `${dirname(place)}-moved`),
  'renaming something to a tape': (place, { folder }) => {
    fs.writeFileSync(join(folder, 'forged'), 'forged')
    fs.renameSync(join(folder, 'forged'), tapeIn(place))
  },
  'making a folder in it': (place) => fs.mkdirSync(join(place, 'old.approvals', 'more')),
  'changing who may read a tape': (place) => fs.chmodSync(tapeIn(place), 0o777),
  'changing when a tape was written': (place) => fs.utimesSync(tapeIn(place), 1, 1),
  'copying a tape out': (place, { folder }) => {
    fs.copyFileSync(tapeIn(place), join(folder, 'copy'))
    return fs.readFileSync(join(folder, 'copy'), 'utf8')
  },
  'copying something in': (place, { folder }) => {
    fs.writeFileSync(join(folder, 'forged'), 'forged')
    fs.copyFileSync(join(folder, 'forged'), decisionIn(place))
  },
  'listing the folder': (place) => fs.readdirSync(place).includes('old.tape') && SECRET,
  'opening the folder': async (place) => {
    for await (const { name } of await fs.promises.opendir(place))
      if (name === 'old.tape') return SECRET
  },
  'looking at a tape': (place) => fs.statSync(tapeIn(place)).isFile() && SECRET,
  'a link that is made to the folder': (place, { folder }) => {
    fs.symlinkSync(place, join(folder, 'new-link'))
    return fs.readFileSync(join(folder, 'new-link', 'old.tape'), 'utf8')
  },
  'a link to the folder from before': (_place, { folder }, which) =>
    fs.readFileSync(join(folder, `link-${which}`, 'old.tape'), 'utf8'),
  'a link to a tape from before': (_place, { folder }, which) =>
    fs.writeFileSync(join(folder, `file-link-${which}`), 'forged'),
  'a second name that is made for a tape': (place, { folder }) => {
    fs.linkSync(tapeIn(place), join(folder, 'second'))
    return fs.readFileSync(join(folder, 'second'), 'utf8')
  },
  'a path with ..': (place, { folder }) =>
    fs.readFileSync([folder, 'work', '..', relative(folder, place), 'old.tape'].join('/'), 'utf8'),
  'a path with dots and slashes': (place, { folder }) =>
    fs.readFileSync(`${folder}//.//${relative(folder, place)}/.//old.tape`, 'utf8'),
  'a relative path': (place) => fs.readFileSync(relative(process.cwd(), tapeIn(place)), 'utf8'),
  'a path as bytes': (place) => fs.readFileSync(Buffer.from(tapeIn(place)), 'utf8'),
  'a path as a URL': (place) => fs.readFileSync(pathToFileURL(tapeIn(place)), 'utf8'),
  'a descriptor of a tape from before': (_place, { opened }, which) =>
    fs.writeSync(opened[which], 'forged', 0),
  'a program that reads a tape': (place) => execFileSync('cat', [tapeIn(place)]),
  'a program that works in the folder': (place) =>
    execFileSync('cat', ['old.tape'], { cwd: place }),
  'a program that writes a decision': (place) =>
    execFileSync('cp', [join(dirname(dirname(place)), 'copy-other'), decisionIn(place)]),
  'a program with an option that names a tape': (place, { folder }) =>
    execFileSync(COPY, [`if=${tapeIn(place)}`, `of=${join(folder, 'dd')}`]) &&
    fs.readFileSync(join(folder, 'dd'), 'utf8'),
}

/** The same for a tool under no scope at all. */
const free = {
  'reading a tape': ops['reading a tape'],
  'reading a tape later': ops['reading a tape later'],
  'writing a decision': ops['writing a decision'],
  'renaming the folder above it': ops['renaming the folder above it'],
  'a link to the folder from before': ops['a link to the folder from before'],
  'a descriptor of a tape from before': ops['a descriptor of a tape from before'],
  'a program that reads a tape': ops['a program that reads a tape'],
  'copying the folder out': (place, { folder }) => {
    fs.cpSync(place, join(folder, 'copies'), { recursive: true })
    return fs.readFileSync(join(folder, 'copies', 'old.tape'), 'utf8')
  },
  'text for a shell': (place) => execSync(`cat '${tapeIn(place)}'`),
  'text for a shell that writes': (place) => execSync(`echo forged>${tapeIn(place)}`),
  'a program that renames the folder above it': (place) =>
    execFileSync('mv', [dirname(place), `${dirname(place)}-moved`]),
}

export const cases = [
  ...Object.entries(ops).map(([name, touch]) => touches(name, touch)),
  ...Object.entries(free).map(([name, touch]) =>
    touches(`without scopes: ${name}`, touch, { policy: noScopes }),
  ),
  touches('reading the state folder', ops['reading a tape'], { place: ({ state }) => state }),
  touches(
    'writing into the state folder',
    (place) => fs.writeFileSync(join(place, 'old.tape'), 'x'),
    {
      place: ({ state }) => state,
    },
  ),
  // A listing goes around what it must not show, or no tool could list the project.
  touches(
    'listing everything',
    (place) =>
      fs.readdirSync(dirname(place), { recursive: true }).includes('runs/old.tape') && SECRET,
    { code: undefined, passes: true },
  ),
  touches(
    'listing everything later',
    async (place) =>
      (await fs.promises.readdir(dirname(place), { recursive: true, withFileTypes: true })).some(
        ({ name }) => name === 'old.tape',
      ) && SECRET,
    { code: undefined, passes: true },
  ),
  touches(
    'listing everything with a callback, folder by folder',
    async (place) => {
      const list = promisify((at, done) => fs.readdir(at, { withFileTypes: true }, done))
      const names = []
      for (const pending = [dirname(place)]; pending.length > 0;) {
        const at = pending.pop()
        for (const each of await list(at)) {
          names.push(each.name)
          if (each.isDirectory()) pending.push(join(at, each.name))
        }
      }
      return names.includes('old.tape') && SECRET
    },
    { code: undefined, passes: true },
  ),
]
