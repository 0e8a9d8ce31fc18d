import type {
  BodyForm,
  GuardFacts,
  GuardIntent,
  RecordedError,
  ServedFrom,
} from '@retake/tape/format'

/** A call of an earlier run, with what became of it. */
export interface EarlierCall {
  readonly tool: string
  readonly intent: GuardIntent
  /** Missing when it is in doubt: it may have had its effect, and nobody saw its answer. */
  readonly facts: GuardFacts | undefined
  /** Its result; of a call in doubt, its start. */
  readonly from: ServedFrom
  readonly error: RecordedError | undefined
  args(): unknown
  /** The result as it is stored; read on demand. */
  result(): { readonly as: BodyForm | undefined; readonly body: Uint8Array }
}

/** Calls that earlier runs have completed. */
export interface EarlierCalls {
  /** The nth time that this very call was made of a guard, by the agent or inside another call. */
  find(
    guard: string,
    fingerprint: string,
    occurrence: number,
    within?: string,
  ): EarlierCall | undefined
}
