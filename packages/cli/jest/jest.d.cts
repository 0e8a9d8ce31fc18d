import type { expect as jestExpect } from '@jest/globals'
import type { TapeMode, TapeOptions } from '../dist/test-runners/use-tape.js' with {
  'resolution-mode': 'import',
}
import type { UseTape } from '../dist/test-runners/to-replay.js' with {
  'resolution-mode': 'import',
}

export type { TapeMode, TapeOptions, UseTape }

/** Replays a function against its tape, or records it, and gives its output. */
export const tape: UseTape
export const expect: typeof jestExpect

interface ReplayMatchers<R> {
  /** Runs the agent against its tape and fails where it does something else. */
  toReplay(tape: string | URL, options?: TapeOptions): Promise<R>
}

declare module 'expect' {
  interface Matchers<R extends void | Promise<void>, T = unknown> extends ReplayMatchers<R> {}
}
