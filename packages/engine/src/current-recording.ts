import { currentSession } from './scope.js'
import type { Recording } from './sessions/recording.js'

/**
 * The run that is being recorded where this is asked. Undefined outside of runs
 * and in replays: what an adapter does with it must not change what the program
 * itself sees.
 */
export const currentRecording = (): Recording | undefined => currentSession()?.recording
