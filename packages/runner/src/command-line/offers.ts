import type { RunStore } from '../runs/run-store.js'

/**
 * What a capability offers to others, which also work without it. Its verb table sets its offers;
 * an offer loads its code when it is used.
 */
export interface Offers {
  /** The guard: a rule that would have stopped a step of a run, but no passing run. */
  suggestRule?: () => Promise<
    (file: string, step: string, passing: readonly string[]) => object | undefined
  >
  /** The lab: packs the program of a run for the workers of a team server. */
  packCode?: () => Promise<(file: string, archive: string, allowsSecrets: boolean) => void>
  /** The viewer: serves the runs of a folder until a signal. */
  serveViewer?: () => Promise<
    (
      store: RunStore,
      options: {
        readonly page: string
        readonly onServed: (served: { readonly url: string }) => void | Promise<void>
      },
    ) => Promise<void>
  >
  /** The viewer: a page that verifies receipts offline. */
  receiptPage?: () => Promise<
    (content: { readonly receipt?: string; readonly keys?: readonly ReceiptKey[] }) => string
  >
  /** Foreign formats: sends a span about a command that has ended. */
  sendVerbSpan?: () => Promise<(done: EndedVerb) => Promise<void>>
}

interface ReceiptKey {
  readonly name: string
  readonly key: string
}

export interface EndedVerb {
  readonly verb: string
  readonly startedAt: number
  readonly durationMs: number
  readonly exitCode: number
  readonly endpoint: string
}

export const offers: Offers = {}
