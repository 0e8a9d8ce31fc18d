/** `retake/langgraph`: a checkpointer whose checkpoints are part of the tape. */
export { TapeSaver } from './tape-saver.js'
export type { TapeSaverOptions } from './tape-saver.js'
