import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import { readRun, type RunView, type Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { startProvider, type SeenRequest } from './loopback-provider.mjs'
import { makeWorkspace, type Finished, type Workspace } from './run-retake.mjs'
import { tapesOldestFirst } from './tapes-oldest-first.js'

type Provider = Awaited<ReturnType<typeof startProvider>>

/** A branch as a command made it, with what the provider got meanwhile. */
export interface Branched extends Finished {
  readonly sent: readonly SeenRequest[]
  /** Connections that the provider accepted meanwhile. */
  readonly opened: number
  /** Path of its tape; undefined when none was written. */
  readonly path: string | undefined
  readonly tape: Tape
  readonly view: RunView
}

export const viewOf = (tape: Tape): RunView =>
  readRun(tape, { gunzip: gunzipSync, inflate: inflateSync, brotli: brotliDecompressSync })

export const sha256 = (path: string): string =>
  createHash('sha256').update(readFileSync(path)).digest('hex')

const ends: (() => Promise<void>)[] = []

/** Takes every scene down; for `afterAll`. */
export async function removeScenes(): Promise<void> {
  for (const end of ends.splice(0)) await end()
}

/** A recorded run, the provider it asked, and everything that is done to it. */
export class ForkScene {
  readonly #before = new Map<string, string>()

  private constructor(
    readonly workspace: Workspace,
    readonly provider: Provider,
    readonly recorded: Finished,
  ) {}

  static async record(
    agent: string,
    options: {
      readonly args?: readonly string[]
      readonly env?: Readonly<Record<string, string>>
      readonly maxLatencyMs?: number
      /** Puts files into the working folder; the agent is then one of them. */
      readonly prepare?: (folder: string) => Promise<void>
    } = {},
  ): Promise<ForkScene> {
    const { args = [], env = {}, maxLatencyMs = 0, prepare } = options
    const workspace = await makeWorkspace()
    ends.push(workspace.remove)
    const provider = await startProvider({ maxLatencyMs })
    ends.push(provider.close)
    await prepare?.(workspace.folder)
    const recorded = prepare
      ? await workspace.retake(['record', agent, ...args], {
          env: { AGENT_BASE_URL: provider.url, AGENT_H2_URL: provider.h2Url, ...env },
        })
      : await workspace.record(agent, { provider, args, env })
    const scene = new ForkScene(workspace, provider, recorded)
    scene.#before.set(scene.parent, sha256(scene.parent))
    return scene
  }

  /** Paths of all tapes, oldest first. */
  get tapes(): string[] {
    return tapesOldestFirst(join(this.workspace.folder, '.retake', 'runs'))
  }

  /** The tape of the recorded run. */
  get parent(): string {
    const [first] = this.#before.keys()
    if (first !== undefined) return first
    const [path] = this.tapes
    if (path === undefined) throw new Error(`nothing was recorded: ${this.recorded.stderr}`)
    return path
  }

  /** Runs a command that writes a branch; every tape that was there must stay as it was. */
  async branch(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<Branched> {
    const known = new Set(this.tapes)
    for (const path of known) this.#before.set(path, sha256(path))
    const { requests } = this.provider
    const from = requests.length
    const { socketsOpened } = this.provider.counts()
    const finished = await this.workspace.retake(args, { env })
    for (const [path, sha] of this.#before) {
      if (sha256(path) !== sha) throw new Error(`${path} was changed by ${args.join(' ')}`)
    }
    const path = this.tapes.find((each) => !known.has(each))
    const tape = openTape(path ?? this.parent)
    const opened = this.provider.counts().socketsOpened - socketsOpened
    return { ...finished, sent: requests.slice(from), opened, path, tape, view: viewOf(tape) }
  }
}

/** Bodies of the requests that a branch made itself. */
export function ownRequests(tape: Tape): string[] {
  const bodies: string[] = []
  for (const event of tape.events(tape.ownFrom)) {
    if (event.type === 'request') bodies.push(Buffer.from(tape.body(event.seq)).toString())
  }
  return bodies
}
