import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { environmentOnTape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import type { TestProject } from 'vitest/node'
import { launchChromiumServer } from '../../../scripts/launch-chromium.mjs'
import { startUi } from '../../../scripts/start-ui.mjs'
import { makeWorkspace, type Workspace } from '../../support/run-retake.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where shared fixtures are requested by name. */
    readonly sharedFixtures: string
  }
}

/** The runs of the demo: a refund that was wrongly approved, and its fork. */
export interface DemoFacts {
  readonly folder: string
  /** The agent as it lies on disk. */
  readonly agent: string
  /** Id of the recorded run. */
  readonly run: string
  /** Label of the tool that handed out the outdated policy; chance decides which one it is. */
  readonly step: string
  /** Id of the branch that the demo itself forked there. */
  readonly branch: string
  /** Where the scripted model answered. */
  readonly port: number
}

export async function recordDemo({ folder, retake }: Workspace): Promise<DemoFacts> {
  const { stdout } = await retake(['demo', '--json'])
  const { run, step, branch } = JSON.parse(stdout) as Pick<DemoFacts, 'run' | 'step' | 'branch'>
  const tape = openTape(join(folder, '.retake', 'runs', `${run}.tape`))
  const port = Number(new URL(environmentOnTape(tape).get('MODEL_URL')?.value ?? '').port)
  const agent = join(folder, '.retake', 'demo', 'agent.ts')
  return { folder, agent, run, step, branch, port }
}

interface Fixture {
  readonly facts: unknown
  stop(): Promise<unknown>
}

async function startChromium(): Promise<Fixture> {
  const server = await launchChromiumServer()
  return { facts: server.wsEndpoint(), stop: () => server.close() }
}

async function startDemo(): Promise<Fixture> {
  const workspace = await makeWorkspace()
  const demo = await recordDemo(workspace)
  const ui = await startUi(workspace.folder)
  const stop = async () => {
    await ui.stop()
    await workspace.remove()
  }
  return { facts: { demo, url: ui.url }, stop }
}

const starters: Readonly<Record<string, () => Promise<Fixture>>> = {
  chromium: startChromium,
  demo: startDemo,
}

/**
 * Starts what many test files use, when the first of them requests it, and stops it after
 * the last one. `/chromium/812` is the Chromium of the process with this id: two processes that
 * share one would also share its clipboard.
 */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const fixtures = new Map<string, Promise<Fixture>>()
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    const start = starters[path.split('/')[1] ?? '']
    if (start === undefined) return void response.writeHead(404).end()
    const fixture = fixtures.get(path) ?? start()
    fixtures.set(path, fixture)
    fixture.then(
      ({ facts }) => response.end(JSON.stringify(facts)),
      (error: unknown) => response.writeHead(500).end(inspect(error)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  provide('sharedFixtures', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return async () => {
    server.close()
    server.closeAllConnections()
    const started = await Promise.allSettled(fixtures.values())
    for (const each of started) if (each.status === 'fulfilled') await each.value.stop()
  }
}
