import { expect, test } from 'vitest'
import { runLibrary } from '../support/run-library.mjs'
import { agentPath, makeWorkspace } from '../support/run-retake.mjs'

interface Kind {
  readonly replayed: string
  readonly isOffline: boolean
  readonly events: number
  readonly notCaptured: readonly string[]
}

/** Runs a program that uses the library in a folder of its own. */
async function resultOf<T>(program: string, task: unknown, nodeArgs: string[] = []): Promise<T> {
  const { folder, remove } = await makeWorkspace()
  try {
    const { result } = await runLibrary(agentPath(`library/${program}`), task, {
      cwd: folder,
      nodeArgs,
    })
    return result as T
  } finally {
    await remove()
  }
}

const copied = (when: 'before the first run' | 'before the import', nodeArgs?: string[]) =>
  resultOf<Record<string, Kind>>('copied-early.mjs', { copied: when }, nodeArgs)

/** A run has three events of its own: its start, its end and the seal. */
const capturedKind = (kind: Kind): boolean => kind.events > 3

/** Kinds that did not replay identically from what was captured. */
function lost(kinds: Record<string, Kind>): unknown[] {
  return Object.entries(kinds).filter(
    ([, kind]) =>
      kind.replayed !== 'identical' ||
      !kind.isOffline ||
      !capturedKind(kind) ||
      kind.notCaptured.length > 0,
  )
}

test('functions copied and clients created between the import and the first run are captured', async () => {
  const kinds = await copied('before the first run')
  expect(Object.keys(kinds).length).toBeGreaterThan(40)
  expect(lost(kinds)).toEqual([])
})

test('with --import retake/preload, copies made before the program imports retake are captured', async () => {
  const preload = import.meta.resolve('retake/preload')
  expect(lost(await copied('before the import', ['--import', preload]))).toEqual([])
})

test('without the preload, copies of fetch are named and refused, and no replay silently gives another result', async () => {
  const kinds = await copied('before the import')
  for (const [name, { replayed, isOffline }] of Object.entries(kinds)) {
    expect(replayed, name).toMatch(/^(?:identical|REPLAY_DIVERGED|BOUNDARY_NOT_REPLAYABLE)$/)
    expect(isOffline, name).toBe(true)
  }
  for (const name of ['fetch', 'openai', '@anthropic-ai/sdk', 'groq-sdk', 'ollama'])
    expect(kinds[name], name).toMatchObject({
      replayed: 'BOUNDARY_NOT_REPLAYABLE',
      notCaptured: expect.arrayContaining(['a copy of fetch']) as string[],
    })
  // Named imports of ES modules are refreshed.
  const named = Object.entries(kinds).filter(([name]) => name.startsWith('import '))
  expect(named.length).toBe(5)
  for (const [name, kind] of named) {
    expect(kind.replayed, name).toBe('identical')
    expect(capturedKind(kind), name).toBe(true)
  }
})

test('uninstall() restores everything, is refused during a run, and a later run installs again', async () => {
  const seen = await resultOf<{ imported: string[]; recorded: string[] }>('uninstalled.mjs', null)
  expect(seen).toMatchObject({
    refused: 'UNINSTALL_DURING_RUN',
    left: [[], []],
    isNative: true,
    tracked: 0,
    isSame: true,
  })
  const { imported, recorded } = seen
  expect(imported).toEqual(expect.arrayContaining(['globalThis fetch', 'crypto randomUUID']))
  expect(recorded).toEqual(expect.arrayContaining(imported))
  // Methods and accessors that are looked up at each use.
  const later = recorded.filter((key) => !imported.includes(key))
  expect(later).toEqual(
    expect.arrayContaining(['AbortSignal.prototype aborted', 'http.Agent.prototype getName']),
  )
})
