import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { skipTest, soakOnly } from '../support/soak.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const OLDER = ['vitest@3', 'jest@29', 'jest-environment-node@29', '@jest/globals@29']

const packageAt = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string
    readonly version: string
    readonly dependencies?: Readonly<Record<string, string>>
  }

/** Folder of packages in which Retake finds the older runners; undefined without a registry. */
function installOlder(): string | undefined {
  const folder = join(root, 'node_modules/.cache/retake-runners')
  const modules = join(folder, 'node_modules')
  const own = ['tape', 'engine', 'guard', 'runner', 'web', 'lab', 'interop', 'cli'].map((name) =>
    join(root, 'packages', name),
  )
  if (!existsSync(modules)) {
    const needed = own.flatMap((each) =>
      Object.entries(packageAt(each).dependencies ?? {})
        .filter(([name]) => !name.startsWith('@retake/'))
        .map(([name, version]) => `${name}@${version}`),
    )
    const { version } = packageAt(join(root, 'node_modules/openai'))
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
    try {
      execFileSync('npm', ['install', ...flags, ...OLDER, ...needed, `openai@${version}`], {
        cwd: folder,
        timeout: 600_000,
        stdio: 'ignore',
      })
    } catch {
      rmSync(folder, { recursive: true, force: true })
      return undefined
    }
  }
  // As built now, and without links: a link would lead to the runners of this repository.
  for (const each of own) {
    const target = join(modules, packageAt(each).name)
    rmSync(target, { recursive: true, force: true })
    cpSync(each, target, {
      recursive: true,
      filter: (file) => !/[\\/](?:node_modules|src)$/.test(file),
    })
  }
  return modules
}

test.each(['vitest-matcher', 'jest-matcher'])(
  '%s passes with Vitest 3 and Jest 29',
  { timeout: 3_600_000 },
  async (suite) => {
    soakOnly()
    const modules = installOlder() ?? skipTest('npm cannot install Vitest 3 and Jest 29 here')
    const vitest = join(root, 'node_modules/vitest/vitest.mjs')
    const { code, stdout, stderr } = await run(
      process.execPath,
      [vitest, 'run', `test/cli/${suite}.test.ts`],
      root,
      { env: { RETAKE_RUNNERS: modules, RETAKE_SOAK: '1' }, timeoutMs: 3_600_000 },
    )
    expect(code, stdout + stderr).toBe(0)
  },
)
