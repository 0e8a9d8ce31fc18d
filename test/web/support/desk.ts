import { symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startProvider } from '../../support/loopback-provider.mjs'
import { makeWorkspace, type Workspace } from '../../support/run-retake.mjs'
import { tapesOldestFirst } from '../../support/tapes-oldest-first.js'

const modules = fileURLToPath(new URL('../../../node_modules', import.meta.url))

/**
 * Looks up what it should do with a tool, asks a model about it and writes down what it
 * came to. What the tool answers decides how long it waits and how it takes being stopped.
 */
export const DESK = `
import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { tool } from '@retake/engine'

const look = tool('look', ({ order }) => ({
  order, days: 60, waitMs: 0, stubborn: false,
}))
const base = process.env.AGENT_BASE_URL
const key = process.env.SHOP_API_KEY

async function handle(order) {
  const found = await look({ order })
  const prompt = 'Order ' + found.order + ' within ' + found.days + ' days'
  if (found.stubborn) process.on('SIGTERM', () => {})
  if (found.waitMs > 0) console.log('waiting')
  await sleep(found.waitMs)
  const response = await fetch(base + '/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key && { 'x-api-key': key }) },
    body: JSON.stringify({
      model: 'gpt-4o-mini', temperature: 0, messages: [{ role: 'user', content: prompt }],
    }),
  })
  const { choices } = await response.json()
  const said = choices[0].message.content
  console.log(found.days > 40 ? 'APPROVED' : 'DENIED')
  return { said, days: found.days }
}

const { days } = await handle('1182')
writeFileSync('decision.txt', 'days: ' + days + '\\n')
process.exitCode = days > 40 ? 0 : 5
`

export interface Desk {
  readonly workspace: Workspace
  readonly provider: Awaited<ReturnType<typeof startProvider>>
  /** Path of the agent. */
  readonly agent: string
  /** Id of the recorded run. */
  readonly run: string
  remove(): Promise<void>
}

/** Records the desk in a folder of its own; the provider keeps running, for live requests. */
export async function recordDesk({
  source = DESK,
  env = {},
}: { source?: string; env?: Record<string, string> } = {}): Promise<Desk> {
  const workspace = await makeWorkspace()
  const provider = await startProvider({ maxLatencyMs: 0 })
  const agent = join(workspace.folder, 'desk.mjs')
  await symlink(modules, join(workspace.folder, 'node_modules'))
  await writeFile(agent, source)
  const { code, stderr } = await workspace.retake(['record', agent], {
    env: { AGENT_BASE_URL: provider.url, ...env },
  })
  if (code !== 0) throw new Error(stderr)
  const [run = ''] = runsOf(workspace)
  const remove = async (): Promise<void> => {
    await provider.close()
    await workspace.remove()
  }
  return { workspace, provider, agent, run, remove }
}

/** Ids of the runs in a workspace, oldest first. */
export const runsOf = ({ folder }: Workspace): string[] =>
  tapesOldestFirst(join(folder, '.retake', 'runs')).map((path) => basename(path, '.tape'))
