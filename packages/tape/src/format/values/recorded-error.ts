/** A recorded error: enough to rebuild one that no caller can distinguish. */
export interface RecordedError {
  /** Constructor name. */
  readonly class: string
  /** Nearest built-in ancestor of a custom class, if it is not `Error`. */
  readonly base?: string
  readonly name: string
  readonly message: string
  readonly stack?: string
  /** Result of `String(error)` if it is not the usual `name: message`. */
  readonly text?: string
  readonly code?: string | number
  /** Other own enumerable properties, as wire values. */
  readonly props?: Readonly<Record<string, unknown>>
  /** Own enumerable properties under registered symbols, by `Symbol.keyFor`. */
  readonly symbols?: Readonly<Record<string, unknown>>
  readonly cause?: RecordedError
  /** Members of an AggregateError. */
  readonly errors?: readonly RecordedError[]
  /** Set if something other than an Error was thrown: its wire value. */
  readonly thrown?: unknown
}

/** The name of an error in texts. Many SDKs have a class for each error, and leave its name `Error`. */
export const errorName = ({ class: className, name = '' }: ErrorNames): string =>
  name === '' || name === 'Error' ? className : name

interface ErrorNames extends Pick<RecordedError, 'class'>, Partial<Pick<RecordedError, 'name'>> {}
