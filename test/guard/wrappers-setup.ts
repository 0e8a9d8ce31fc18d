import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import type { ModelServer, ScriptedAnswer } from '@retake/engine/testing'
import { guard, readRun, openTape } from 'retake'
import type { GuardOptions, GuardRun } from 'retake'
import { afterEach } from 'vitest'

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const each of undo.splice(0).toReversed()) await each()
})

export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'retake-wrappers-'))
  undo.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  return folder
}

/** A model on the loopback that says these things in order. */
export async function model(...answers: ScriptedAnswer[]): Promise<ModelServer> {
  const server = await startModelServer({ answers })
  undo.push(() => server.stop())
  return server
}

/** Everything is allowed but `wipe`. */
export function gate(options: Partial<GuardOptions> = {}): GuardRun {
  const run = guard({
    name: 'gate',
    dir: tempFolder(),
    durability: 'process',
    policy: { name: 'house', rules: [{ id: 'keep', deny: 'wipe', because: 'Nothing is wiped.' }] },
    ...options,
  })
  undo.push(() => run.end())
  return run
}

/** What a model must be able to read of a denied call. */
export const DENIED = /POLICY_DENIED: .*"wipe".*Nothing is wiped\..*Allowed/s

/** Asks for a tool by name. */
export const asks = (name: string, args: Record<string, unknown> = {}): ScriptedAnswer => ({
  toolCalls: [{ name, args }],
})

/** What the model was sent in its nth request, as text. */
export const sent = (server: ModelServer, number: number): string =>
  server.requests[number - 1]?.messages.map(({ role, text }) => `${role}: ${text}`).join('\n') ?? ''

/** The steps of a tape, each as what happened and what became of it. */
export const stepsOf = (path: string): string[] =>
  readRun(openTape(path)).steps.map(({ kind, title, state }) => `${kind} ${title} ${state}`)
