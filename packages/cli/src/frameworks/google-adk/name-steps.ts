import { placesFrom } from '@retake/engine'
import { onceAProgram } from '../once-a-program.js'
import { requireVersion } from '../supported-version.js'
import { AsyncContextManager } from './async-context-manager.js'
import { openTelemetryOfAdk } from './open-telemetry.js'
import { SpanPlaces } from './span-places.js'

/**
 * From now on steps carry the agents, tools, workflows and nodes of Google's ADK
 * they start in. Nothing of the agents has to change. Returns its undo.
 *
 * ADK tells OpenTelemetry where it is, around each agent and tool, streams and
 * parallel agents included; its plugins are only told before and after. This
 * listens there. It sends nothing, draws no value and adds no promise, so a tape
 * does not depend on it. A program with telemetry of its own keeps it: set that
 * up first, then call this.
 */
export const nameSteps = onceAProgram(() => {
  requireVersion({ package: '@google/adk', from: '2.0', to: '2' })
  const api = openTelemetryOfAdk()
  // False when the program has set one: then that one is as good.
  api.context.setGlobalContextManager(new AsyncContextManager(api.ROOT_CONTEXT))
  const provider = api.trace.getTracerProvider()
  const before = provider.getDelegate()
  const places: SpanPlaces = new SpanPlaces(api, () =>
    provider.getDelegate() === places ? before : provider.getDelegate(),
  )
  provider.setDelegate(places)
  const unask = placesFrom(() => places.current())
  return () => {
    unask()
    if (provider.getDelegate() === places) provider.setDelegate(before)
  }
})
