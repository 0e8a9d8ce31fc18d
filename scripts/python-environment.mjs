import { createHash } from 'node:crypto'
import { access, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root, runCommand } from './run-command.mjs'

const candidates = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python']
const isNewEnough = 'import sys; assert sys.version_info >= (3, 10); print(sys.version)'

/** What pip says when there is no way to the registry. */
const UNREACHABLE =
  /NewConnectionError|ConnectTimeout|ReadTimeout|Temporary failure|Name or service not known|ProxyError|SSLError/

/**
 * A Python with the packages of `test/python/<name>`, in `.python/<name>`. Made
 * when it is not there, or when what it should hold has changed.
 *
 * @param {string} name
 * @param {(what: string) => void} say Told before something that takes long.
 * @returns {Promise<string>} Path of its interpreter. Rejects with one sentence.
 */
export async function pythonEnvironment(name, say) {
  const { program, version } = await findPython()
  const folder = join(root, '.python', name)
  const python = join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python')
  const requirements = join(root, 'test/python', name, 'requirements.txt')
  const constraints = join(root, 'test/python', name, 'constraints.txt')
  const hash = createHash('sha256').update(version)
  for (const file of [requirements, constraints]) hash.update(await readFile(file))
  const pins = hash.digest('hex')
  const stamp = join(folder, 'pins.sha256')
  const isThere = await access(python).then(
    () => true,
    () => false,
  )
  if (isThere && (await readFile(stamp, 'utf8').catch(() => '')) === pins) return python
  say(`installing the Python packages of ${name}; this takes a few minutes the first time`)
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(root, '.python'), { recursive: true })
  const made = await runCommand(program, ['-m', 'venv', folder])
  if (!made.ok) throw new Error(`${program} -m venv failed: ${lastLine(made.output)}`)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries', '2']
  const installed = await runCommand(python, [...pip, '-r', requirements, '-c', constraints])
  if (!installed.ok) {
    const [unreachable] = UNREACHABLE.exec(installed.output) ?? []
    throw new Error(
      unreachable === undefined
        ? `The Python packages of ${name} cannot be installed: ${lastLine(installed.output)}`
        : `The Python registry cannot be reached (${unreachable}), and the packages of ${name} are not installed yet.`,
    )
  }
  await writeFile(stamp, pins)
  return python
}

async function findPython() {
  for (const program of candidates) {
    const { ok, output } = await runCommand(program, ['-c', isNewEnough])
    if (ok) return { program, version: output.trim() }
  }
  throw new Error('Python 3.10 or newer is not installed, and these tests need it.')
}

const lastLine = (output) => output.trim().split('\n').at(-1) ?? ''
