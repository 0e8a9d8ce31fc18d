import { currentSession } from './scope.js'
import type { Recording } from './sessions/recording.js'

/**
 * The run that is being recorded here. Undefined outside of runs and in replays: what an adapter
 * does with it must not change what the program sees.
 */
export const currentRecording = (): Recording | undefined => currentSession()?.recording
