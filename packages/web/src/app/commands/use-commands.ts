import { useLayoutEffect, useRef, useSyncExternalStore } from 'react'
import type { Command } from './command.js'
import { registry } from './command-registry.js'

/**
 * Offers commands while the component is on the screen. Their functions may be new
 * at every drawing; titles, keys and reasons are taken up when they change. Whoever sees
 * what they are about can press their keys: they are offered before it is drawn.
 */
export function useCommands(commands: readonly Command[]): void {
  const latest = useRef(commands)
  useLayoutEffect(() => {
    latest.current = commands
  })
  const shape = JSON.stringify(commands.map(({ run: _run, ...rest }) => rest))
  useLayoutEffect(() => {
    const offered = latest.current.map((command, index) => ({
      ...command,
      run: () => latest.current[index]?.run(),
    }))
    return registry.add(offered)
  }, [shape])
}

/** Everything that can be done now. */
export const useAllCommands = (): readonly Command[] =>
  useSyncExternalStore(registry.subscribe, registry.all)
