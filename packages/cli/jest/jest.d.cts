import type { expect as jestExpect } from '@jest/globals'
import type { TapeMode, UseTapeOptions } from '@retake/runner/tests' with {
  'resolution-mode': 'import',
}
import type { replayProgram as replay, UseTape } from '@retake/runner/tests' with {
  'resolution-mode': 'import',
}

export type { TapeMode, UseTapeOptions, UseTape }

/** Replays a function against its tape, or records it, and gives its output. */
export const tape: UseTape
export const expect: typeof jestExpect
/** Replays a program against its tape, offline, and gives its outcome. */
export const replayProgram: typeof replay

interface ReplayMatchers<R> {
  /** Runs the agent against its tape and fails where it does something else. */
  toReplay(tape: string | URL, options?: UseTapeOptions): Promise<R>
}

declare module 'expect' {
  interface Matchers<R extends void | Promise<void>, T = unknown> extends ReplayMatchers<R> {}
}

declare global {
  namespace jest {
    // For the global `expect` of @types/jest, whose type parameters have to be repeated.
    interface Matchers<R, T = {}> extends ReplayMatchers<R> {}
  }
}
