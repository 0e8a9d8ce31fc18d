import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { onTestFinished } from 'vitest'
import { run } from '../support/run-retake.mjs'

/** Packages of projects: those of this repository, or others with older test runners. */
const modules =
  process.env['RETAKE_RUNNERS'] ?? fileURLToPath(new URL('../../node_modules/', import.meta.url))

/** How one test of a project ended, with the failure as the runner shows it. */
export type Outcome = 'passed' | { readonly failed: string }

export interface RunnerRun {
  readonly code: number | null
  /** By title. */
  readonly tests: Readonly<Record<string, Outcome>>
  readonly text: string
}

interface Report {
  readonly testResults: readonly {
    readonly message?: string
    readonly assertionResults: readonly {
      readonly title: string
      readonly status: string
      readonly failureMessages?: readonly string[]
    }[]
  }[]
}

/** A project of a user, with these files in it and the packages of this repository. */
export async function makeProject(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'retake-project-')))
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
  await symlink(modules, join(folder, 'node_modules'), 'junction')
  await writeFiles(folder, files)
  return folder
}

export async function writeFiles(
  folder: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
}

type Environment = Readonly<Record<string, string>>

/** Runs the real Vitest on a project. */
export const runVitest = (folder: string, env: Environment, args: readonly string[] = []) =>
  runRunner(folder, ['vitest/vitest.mjs', 'run', '--reporter=json', ...args], env)

/** Runs the real Jest on a project; `esm` lets it load ES modules. */
export const runJest = (folder: string, env: Environment, { esm = false, args = [] as string[] }) =>
  runRunner(folder, ['jest/bin/jest.js', '--json', ...args], {
    ...env,
    ...(esm && { NODE_OPTIONS: '--experimental-vm-modules --no-warnings' }),
  })

async function runRunner(
  folder: string,
  [program = '', ...args]: readonly string[],
  env: Environment,
): Promise<RunnerRun> {
  const report = join(folder, 'report.json')
  const finished = await run(
    process.execPath,
    [join(modules, program), ...args, `--outputFile=${report}`],
    folder,
    { env: { CI: '', ...env } },
  )
  const text = finished.stdout + finished.stderr
  let parsed: Report
  try {
    parsed = JSON.parse(readFileSync(report, 'utf8')) as Report
  } catch (cause) {
    throw new Error(`no report, ended with ${finished.code}\n${text}`, { cause })
  }
  await rm(report)
  const tests = parsed.testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ title, status, failureMessages = [] }): [string, Outcome] => [
      title,
      status === 'passed'
        ? status
        : { failed: stripVTControlCharacters(failureMessages.join('\n')) },
    ]),
  )
  const suites = parsed.testResults.map(({ message }) => message ?? '').join('\n')
  return {
    code: finished.code,
    tests: Object.fromEntries(tests),
    text: stripVTControlCharacters(suites) + text,
  }
}
