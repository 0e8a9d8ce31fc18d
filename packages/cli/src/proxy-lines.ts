import type { Route } from '@retake/engine/proxy'

/** Where the proxy listens and what leads where, for a person. */
export function listeningLines(
  doing: 'recording' | 'replaying',
  url: string,
  run: string,
  routes: readonly Route[],
): string {
  const leads = routes.map(({ name, upstream }) => `  ${url}/${name} → ${upstream}`)
  const [only] = routes
  const all = routes.length === 1 && only ? [`  ${url} → ${only.upstream}`] : []
  const where = doing === 'replaying' ? ' from the tape, nothing leaves' : ''
  return [`${doing} ${run} at ${url}${where} · Ctrl-C ends it`, ...all, ...leads, ''].join('\n')
}

/** Resolves at the first signal that asks to stop. */
export function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
    const listener = (signal: NodeJS.Signals): void => {
      for (const each of signals) process.off(each, listener)
      resolve(signal)
    }
    for (const signal of signals) process.on(signal, listener)
  })
}
