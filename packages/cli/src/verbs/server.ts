import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { SettingName } from '@retake/server'
import { nextSignal } from '../command-line/exit-codes.js'
import type { Options, Verb } from '../command-line/verb.js'
import { version } from '../package-root.js'
import { serverParts } from '../team/server-parts.js'

export default {
  arguments: '[config]',
  description: `Serves the runs of a team: one process, one data folder, and a PostgreSQL that comes
with it. The first start prints a link that creates the owner. Settings are environment variables;
\`retake server config\` lists them.`,
  options: {
    '--data <folder>': 'data folder (default: RETAKE_DATA, or ./retake-data)',
    '--port <port>': 'port to listen on (default: RETAKE_PORT, or 4700; 0: any free port)',
    '--host <address>': 'address to listen on (default: RETAKE_HOST, or 127.0.0.1)',
    '--show-worker-token': 'with config: print the token that `retake worker` needs',
    '--json': 'print the address, or the settings, as JSON',
  },
  examples: [
    'retake server',
    'retake server --data /var/lib/retake --host 0.0.0.0',
    'retake server config',
  ],
  async run(options, [command]) {
    const server = await loadServer()
    if (server === undefined) return runPackage()
    const given = givenSettings(options)
    if (command === 'config' && options.flag('show-worker-token')) {
      const token = server.readWorkerToken(server.readSettings(given, process.env))
      options.print({ token }, () => [token])
      return 0
    }
    if (command === 'config') {
      const settings = server.listSettings(given, process.env)
      options.print({ settings }, () =>
        settings.map(
          ({ env, value, default: fallback, about }) =>
            `${env}=${value ?? ''}${value === undefined && fallback !== undefined ? `(${fallback})` : ''}\n    ${about}`,
        ),
      )
      return 0
    }
    const stopped = nextSignal()
    const running = await server.startServer(
      server.readSettings(given, process.env),
      await serverParts(),
    )
    const { url, port, setupLink } = running
    options.print({ url, port, ...(setupLink !== undefined && { setupLink }) }, () => [
      url,
      ...(setupLink === undefined ? [] : [`Create the owner: ${setupLink}`]),
    ])
    await stopped
    await running.close()
    return 0
  },
} satisfies Verb

const givenSettings = (options: Options): Partial<Record<SettingName, string | undefined>> => ({
  data: options.text('data'),
  port: options.text('port'),
  host: options.text('host'),
})

/** The server is a package of its own, because most machines that record need none. */
export async function loadServer() {
  try {
    return await import('@retake/server')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Runs the same command with the server installed. */
export async function runPackage(): Promise<number> {
  process.stderr.write('installing the package @retake/server\n')
  const packages = ['retake', '@retake/server'].flatMap((name) => ['-p', `${name}@${version()}`])
  const args = ['--yes', ...packages, '--', 'retake', ...process.argv.slice(2)]
  const child = spawn('npx', args, { stdio: 'inherit' })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}
