/**
 * Replay in Vitest: adds `expect(agent).toReplay(tape)`, and exports a `test` with a `tape`
 * function. Import it before the SDKs you use.
 */
import { existsSync } from 'node:fs'
import { ignoreRunner, install } from '@retake/engine'
import { expect, test as base, type TestContext } from 'vitest'
import { cliErrors } from '@retake/runner/errors'
import type { TapeMode, UseTapeOptions } from '@retake/runner/tests'
import { tapeFunction, toReplay, type UseTape } from '@retake/runner/tests'

// True in a separate realm, where Node's modules were copied before anything could patch them.
if (Object.getPrototypeOf(existsSync) !== Function.prototype)
  throw cliErrors.VITEST_POOL_UNSUPPORTED()

install()
ignoreRunner(/[\\/]node_modules[\\/](?:@?vitest|vite|vite-node)[\\/]/)

/** For `vitest -u`: workers know the configuration only through this global. */
const { __vitest_worker__: worker } = globalThis as {
  __vitest_worker__?: { config?: { snapshotOptions?: { updateSnapshot?: string } } }
}
const updates = worker?.config?.snapshotOptions?.updateSnapshot === 'all'

expect.extend({
  toReplay(agent: unknown, tape: string | URL, options?: UseTapeOptions) {
    return toReplay({ ...this, updates }, agent, tape, options)
  },
})

export interface TapeFixtures {
  /** Default mode of the test's tapes: `test.extend({ tapeMode: 'offline' })`. */
  readonly tapeMode: TapeMode | undefined
  /** Replays a function against its tape, or records it, and returns its output. */
  readonly tape: UseTape
}

const tape = async (
  { task, tapeMode }: TestContext & Pick<TapeFixtures, 'tapeMode'>,
  use: (tape: UseTape) => Promise<void>,
): Promise<void> => {
  const defaults = (): UseTapeOptions => (tapeMode === undefined ? {} : { mode: tapeMode })
  const running = { testPath: task.file.filepath, currentTestName: task.name, updates }
  await use(tapeFunction(() => running, defaults))
}

/** Vitest 3 binds fixtures when declared, so another mode declares `tape` again. */
function redeclaring<T extends { extend: Function }>(extended: T): T {
  const extend = extended.extend.bind(extended) as (...args: unknown[]) => T
  return Object.assign(extended, {
    extend: (fixtures: unknown, ...more: unknown[]) => {
      const isMode = typeof fixtures === 'object' && fixtures !== null && 'tapeMode' in fixtures
      return redeclaring(extend(isMode ? { tape, ...fixtures } : fixtures, ...more))
    },
  })
}

export const test = redeclaring(base.extend<TapeFixtures>({ tapeMode: undefined, tape }))

export { test as it }
export { expect }
export type { TapeMode, UseTapeOptions, UseTape }

declare module 'vitest' {
  // The type parameter is required for declaration merging.
  interface Matchers<T> {
    /** Runs the agent against its tape and fails if it behaves differently. */
    toReplay(tape: string | URL, options?: UseTapeOptions): Promise<void>
  }
}
