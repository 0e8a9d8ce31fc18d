export const RECEIPT_BLOCKS = { receipt: 'retake-receipt', keys: 'retake-keys' } as const

/** A public key and the name of its owner. */
export interface NamedKey {
  readonly name: string
  readonly key: string
}
