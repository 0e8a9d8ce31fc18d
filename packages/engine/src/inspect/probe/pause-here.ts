import type { InspectorTools } from './inspector-tools.js'

/**
 * Stops this thread while an inspector listens. In a separate file and function, because the
 * controller recognises the stop by its location and reads `tools` from its frame.
 */
export function pauseHere(tools: InspectorTools): void {
  // oxlint-disable-next-line no-debugger
  debugger
  void tools
}
