import type { RunStore } from '../runs/run-store.js'
import type { ViewerPart } from './viewer-part.js'

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
  /** Tabs, findings and routes for the viewer, from each capability that has some. */
  viewer?: (() => Promise<ViewerPart>)[]
  /** The guard: texts of decisions about its calls, which the team server signs. */
  approvals?: () => Promise<ApprovalTexts>
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

export interface ApprovalTexts {
  /** Hash of a request: everything that the approver sees. */
  digest(request: unknown): string
  /** `of`: digest of the request. */
  text(
    decision: { readonly approved: boolean; readonly by: string; readonly reason?: string },
    of: string,
  ): string
}

export const offers: Offers = {}

/** The viewer parts of all installed capabilities. */
export const loadViewerParts = (): Promise<readonly ViewerPart[]> =>
  Promise.all((offers.viewer ?? []).map((load) => load()))
