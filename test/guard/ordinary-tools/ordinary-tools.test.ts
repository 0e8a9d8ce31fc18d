import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { findNode } from '../../../scripts/find-node.mjs'
import { runCommand } from '../../../scripts/run-command.mjs'
import { hasSandbox } from '../../support/has-sandbox.js'
import { agentPath, makeWorkspace, run } from '../../support/run-retake.mjs'
import { isSoak } from '../../support/soak.js'

const folder = fileURLToPath(new URL('.', import.meta.url))
const own = ['built-in', 'dependencies'].map((name) => join(folder, `${name}.mjs`))

/** `npm run soak -- guard-tools`: tools around packages that are installed beside a copy of them. */
const packages = isSoak ? await installPackages() : undefined
const tables =
  packages === undefined || 'why' in packages
    ? own
    : [
        ...own,
        ...['files', 'network', 'text', 'work'].map((name) => join(packages.folder, `${name}.mjs`)),
      ]
const nodes = await Promise.all((isSoak ? ['20', '22', '24'] : ['20']).map(nodeOf))

async function installPackages(): Promise<{ folder: string } | { why: string }> {
  const copy = realpathSync(mkdtempSync(join(tmpdir(), 'retake-packages-')))
  afterAll(() => rmSync(copy, { recursive: true, force: true }))
  cpSync(join(folder, 'packages'), copy, { recursive: true })
  // Some packages disagree about versions of others that these tools do not use.
  const flags = ['--no-audit', '--no-fund', '--legacy-peer-deps']
  // npm sometimes waits forever for nothing.
  const { ok, output, seconds } = await runCommand('npm', ['install', ...flags, '--prefix', copy], {
    timeoutMs: 300_000,
  })
  if (seconds >= 300) return { why: 'npm install did not end within five minutes' }
  return ok ? { folder: copy } : { why: output.split('\n').slice(-3).join(' ') }
}

async function nodeOf(major: string): Promise<readonly [version: string, node?: string]> {
  if (!isSoak) return [process.versions.node, process.execPath]
  try {
    return [major, await findNode(major)]
  } catch {
    return [major]
  }
}

test.skipIf(packages === undefined)('packages of ordinary tools can be installed', (context) => {
  if (packages && 'why' in packages) context.skip(packages.why)
  expect(packages).toBeDefined()
})

describe.each(nodes)('ordinary tools on Node %s', (_, node) => {
  test.skipIf(node === undefined || packages === undefined || 'why' in packages)(
    'tasks in busy queues stay within their calls, and pools of threads refuse them',
    async () => {
      const { folder: work, remove } = await makeWorkspace()
      onTestFinished(remove)
      const found = packages && 'folder' in packages ? packages.folder : ''
      const args = [agentPath('guard/shared-queues.mjs'), work, 'after', found]
      const { stdout, stderr } = await run(node ?? '', args, work)
      const { bound, escaped, threaded } = JSON.parse(stdout || JSON.stringify(stderr)) as {
        readonly bound: readonly string[]
        readonly escaped: object
        readonly threaded: object
      }
      expect(escaped).toEqual({})
      expect(bound).toEqual(expect.arrayContaining(['async-lock', 'bottleneck', 'p-queue']))
      const refused = 'denied WORKER_NOT_ALLOWED'
      expect(threaded).toEqual({ piscina: refused, workerpool: refused })
    },
  )
  describe.skipIf(node === undefined).each(tables)('of %s', (table) => {
    test.for([
      {
        how: 'as functions, with a sandbox for programs',
        mode: 'function',
        sandbox: true,
        sample: 0,
      },
      { how: 'as functions, without a sandbox', mode: 'function', sandbox: false, sample: 1 },
      { how: 'as sandboxed modules', mode: 'module', sandbox: true, sample: 3 },
    ])('work under three policies: $how', async ({ mode, sandbox, sample }, context) => {
      if (sandbox && !hasSandbox) context.skip('there is no sandbox')
      const env = {
        ...(!sandbox && { RETAKE_SANDBOX: 'off' }),
        RETAKE_TOOLS_SAMPLE: String(isSoak ? 0 : sample),
      }
      const args = [join(folder, 'run-tools.mjs'), mode, table]
      const { stdout, stderr } = await run(node ?? '', args, folder, { env, timeoutMs: 1_800_000 })
      const reports = stdout
        .split('\n')
        .filter((line) => line.startsWith('\u0001'))
        .map((line) => JSON.parse(line.slice(1)) as { problem?: string; calls?: number })
      expect(reports.filter(({ problem }) => problem !== undefined)).toEqual([])
      expect(reports.at(-1)?.calls ?? stderr).toBeGreaterThan(5)
    })
  })
})
