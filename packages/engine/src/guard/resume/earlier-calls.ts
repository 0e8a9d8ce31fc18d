import type { BodyForm, GuardFacts, GuardIntent, RecordedError, ServedFrom } from '@retake/tape'

/** A call of an earlier run, with what became of it. */
export interface EarlierCall {
  readonly intent: GuardIntent
  /** Missing when it is in doubt: it may have had its effect, and nobody saw its answer. */
  readonly facts: GuardFacts | undefined
  readonly from: ServedFrom
  readonly as: BodyForm | undefined
  readonly body: Uint8Array
  readonly error: RecordedError | undefined
}

/** What earlier runs of the same name have done already. */
export interface EarlierCalls {
  /** The nth time that this very call was made. */
  find(fingerprint: string, occurrence: number): EarlierCall | undefined
}
