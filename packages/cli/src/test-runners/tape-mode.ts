import { recordingLeftInTest, testModeUnknown } from '../errors/test-tapes.js'

/**
 * What a test does with its tape:
 * - `replay` (default): replays it. A tape that is not there yet is recorded, except in CI.
 * - `record`: records it anew. In CI only `RETAKE_MODE` may ask for this.
 * - `offline`: replays it, and never records, whatever else is said.
 */
export type TapeMode = 'replay' | 'record' | 'offline'

const MODES: readonly string[] = ['replay', 'record', 'offline'] satisfies TapeMode[]

type Environment = Readonly<Record<string, string | undefined>>

/** Whether this runs where nobody would commit a new tape. */
export const isCi = (env: Environment = process.env): boolean =>
  !['', '0', 'false'].includes(env['CI'] ?? '')

/** What is done with a tape: `offline` wins, then `RETAKE_MODE`, then what the test asks for. */
export function chooseMode(asked: string | undefined, env: Environment = process.env): TapeMode {
  const said = env['RETAKE_MODE'] === '' ? undefined : env['RETAKE_MODE']
  for (const mode of [said, asked]) {
    if (mode !== undefined && !MODES.includes(mode)) throw testModeUnknown(mode, MODES)
  }
  if (said === 'offline' || asked === 'offline') return 'offline'
  if (asked === 'record' && said === undefined && isCi(env)) throw recordingLeftInTest()
  return (said ?? asked ?? 'replay') as TapeMode
}
