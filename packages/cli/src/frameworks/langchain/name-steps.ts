import { AsyncLocalStorage } from 'node:async_hooks'
import { AsyncLocalStorageProviderSingleton as provider } from '@langchain/core/singletons'
import { placesFrom } from '@retake/engine'
import { onceAProgram } from '../once-a-program.js'
import { requireVersion } from '../supported-version.js'
import { NOWHERE, placesIn } from './graph-places.js'
import type { GraphPlaces, WhereConfig } from './graph-places.js'

const current = new AsyncLocalStorage<GraphPlaces>()

/**
 * From now on steps carry the agents, nodes and tools of LangChain and LangGraph
 * they start in. Nothing of the graph has to change. Returns its undo.
 *
 * LangChain hands its config down in an AsyncLocalStorage that a program may
 * provide; this one notes the places on the way. It draws no value and adds no
 * promise, so a tape does not depend on it.
 */
export const nameSteps = onceAProgram(() => {
  requireVersion({ package: '@langchain/core', from: '1.1', to: '1' })
  requireVersion({ package: '@langchain/langgraph', from: '1.0', to: '1' })
  const unwatch = watchConfigs()
  const unask = placesFrom(() => current.getStore()?.frames.map(({ place }) => place))
  return () => {
    unask()
    unwatch()
  }
})

/** Notes where each config leads. Streams run without one: for them the place they were made in stays. */
function watchConfigs(): () => void {
  provider.initializeGlobalInstance(new AsyncLocalStorage())
  const instance = provider.getInstance() as AsyncLocalStorage<unknown>
  const own = Object.getOwnPropertyDescriptor(instance, 'run')
  const run = instance.run.bind(instance)
  instance.run = <R, Args extends unknown[]>(
    store: unknown,
    body: (...args: Args) => R,
    ...args: Args
  ): R => run(store, () => withPlaces(() => body(...args)))
  return () => {
    if (own === undefined) Reflect.deleteProperty(instance, 'run')
    else Object.defineProperty(instance, 'run', own)
  }
}

function withPlaces<R>(body: () => R): R {
  const config = provider.getRunnableConfig() as WhereConfig | undefined
  if (config === undefined) return body()
  return current.run(placesIn(config, current.getStore() ?? NOWHERE), body)
}
