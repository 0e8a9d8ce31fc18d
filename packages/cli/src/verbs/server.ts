import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import type { ListedSetting, SettingName } from '@retake/server'
import { FOUND, stopRequest } from '@retake/runner/command-line'
import type { Options, Verb } from '@retake/runner/command-line'
import { version } from '@retake/runner/package-root'
import { serverParts } from '../team/server-parts.js'

export default {
  arguments: '[config | doctor | backup <folder> | restore <folder> | reindex]',
  description: `Serves the runs of a team from one process and one data folder, with a bundled
PostgreSQL. The first start prints a link to create the owner account. Settings are environment
variables; \`retake server config\` lists them. \`doctor\` looks for problems, \`backup\` writes a
backup to a new folder while the server runs, \`restore\` creates a new data folder from it, and
\`reindex\` rebuilds the database of runs from the stored tapes.`,
  options: {
    '--data <folder>': 'data folder (default: RETAKE_DATA, or ./retake-data)',
    '--port <port>': 'port to listen on (default: RETAKE_PORT, or 4700; 0: any free port)',
    '--host <address>': 'address to listen on (default: RETAKE_HOST, or 127.0.0.1)',
    '--show-worker-token': 'with config: print the token that `retake worker` needs',
  },
  examples: [
    'retake server',
    'retake server --data /var/lib/retake --host 0.0.0.0',
    'retake server config',
    'retake server backup /backups/today --data /var/lib/retake',
    'retake server restore /backups/today --data /var/lib/retake-new',
  ],
  async run(options, [command, folder]) {
    const server = await loadServer()
    if (server === undefined) return runPackage()
    const action = command === undefined ? serve : (actions[command] ?? serve)
    const [data, port, host] = ['data', 'port', 'host'].map((name) => options.text(name))
    return action({ server, options, given: { data, port, host }, folder: folder ?? '' })
  },
} satisfies Verb

interface ActionInput {
  readonly server: NonNullable<Awaited<ReturnType<typeof loadServer>>>
  readonly options: Options
  readonly given: Partial<Record<SettingName, string | undefined>>
  readonly folder: string
}

async function serve({ server, options, given }: ActionInput): Promise<number> {
  // By default, V8 collects old objects only at two to three times the live memory, so that the
  // memory of a busy server rises for most of an hour. Costs about 1 % of processor time.
  setFlagsFromString('--heap-growing-percent=20')
  const stopped = stopRequest()
  const running = await server.startServer(
    server.readSettings(given, process.env),
    await serverParts(),
  )
  const { url, port, setupLink } = running
  // Not redacted, because the user needs the token in the link.
  if (options.json) console.log(JSON.stringify({ url, port, setupLink }))
  else {
    console.log(url)
    if (setupLink !== undefined) console.log(`Create the owner account: ${setupLink}`)
  }
  await stopped
  await running.close()
  return 0
}

const actions: Readonly<Record<string, (input: ActionInput) => number | Promise<number>>> = {
  config: ({ server, options, given }) => {
    if (options.flag('show-worker-token')) {
      const token = server.readWorkerToken(server.readSettings(given, process.env))
      // Not redacted.
      console.log(options.json ? JSON.stringify({ token }) : token)
      return 0
    }
    const settings = server.listSettings(given, process.env)
    options.print({ settings }, () => settings.flatMap(settingLines))
    return 0
  },
  doctor: async ({ server, options, given }) => {
    const problems = await server.findProblems(server.readSettings(given, process.env))
    options.print({ problems }, () =>
      problems.length === 0
        ? ['No problems found.']
        : problems.map(({ part, text }) => `${part}: ${text}`),
    )
    return problems.length === 0 ? 0 : FOUND
  },
  backup: async ({ server, options, given, folder }) => {
    const settings = server.readSettings(given, process.env)
    const log = new server.Log(settings.log)
    const done = await server.backUp(settings, await serverParts(), log, folder)
    const note =
      settings.s3Url &&
      `Stored files are in ${settings.s3Url.href}; back up that bucket separately.`
    options.print(done, () => [
      `${done.folder}: ${done.rows} rows, ${done.files} files`,
      ...(note === undefined ? [] : [note]),
    ])
    return 0
  },
  restore: async ({ server, options, given, folder }) => {
    const settings = server.readSettings(given, process.env)
    const done = await server.restore(settings, new server.Log(settings.log), folder)
    options.print(done, () => [
      `${done.folder}: ${done.rows} rows, ${done.files} files, from ${done.createdAt}`,
      done.blobs === 's3' &&
        'Stored files are in S3. Start the server with the same RETAKE_S3_URL.',
      done.blobs === 'not included' &&
        `Before you start the server, copy the folder "blobs" of the old data folder to ${done.folder}.`,
    ])
    return 0
  },
  reindex: async ({ server, options, given }) => {
    const settings = server.readSettings(given, process.env)
    const organizations = await server.reindex(settings, await serverParts())
    const problems = organizations.flatMap((each) => each.problems)
    options.print({ organizations }, () => [
      ...organizations.map(({ organization, runs }) => `${organization}: ${runs} runs`),
      ...problems,
    ])
    return problems.length === 0 ? 0 : FOUND
  },
}

/** A setting as a line of an environment file, after a comment; commented out if not set. */
function settingLines({ env, value, default: fallback, about }: ListedSetting): string[] {
  const line = value === undefined ? `# ${env}=${fallback ?? ''}` : `${env}=${value}`
  return [`# ${about}`, line, '']
}

/** The server is a separate package, because most machines that record do not need it. */
export async function loadServer() {
  try {
    return await import('@retake/server')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}

export async function runPackage(): Promise<number> {
  process.stderr.write('installing @retake/server\n')
  const packages = ['retake', '@retake/server'].flatMap((name) => ['-p', `${name}@${version()}`])
  const args = ['--yes', ...packages, '--', 'retake', ...process.argv.slice(2)]
  const child = spawn('npx', args, { stdio: 'inherit' })
  // The server notices that npm is gone.
  void stopRequest().then(() => child.kill())
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}
