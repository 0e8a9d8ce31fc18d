export const RECEIPT_BLOCKS = { receipt: 'retake-receipt', keys: 'retake-keys' } as const

/** A public key whose owner the page names. */
export interface NamedKey {
  readonly name: string
  readonly key: string
}
