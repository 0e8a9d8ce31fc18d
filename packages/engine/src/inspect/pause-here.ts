import type { InspectorTools } from './inspector-tools.js'

/**
 * Stops this thread while an inspector listens. A file and a function of their own:
 * the controller knows the stop by its place and takes `tools` from its frame.
 */
export function pauseHere(tools: InspectorTools): void {
  // oxlint-disable-next-line no-debugger
  debugger
  void tools
}
