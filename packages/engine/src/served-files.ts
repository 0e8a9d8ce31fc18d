import type { ResultEvent } from '@retake/tape/format'
import { proofOf } from './machine-key.js'
import type { SecretMask } from './secrets.js'

interface ServedFilesOptions {
  readonly secrets: SecretMask
  /** True if the part after the tape is live, and uses today's secrets in the files. */
  readonly isContinued: boolean
}

/** A file that was read: its name, and its current content on disk. */
export interface ReadAgain {
  readonly title: string
  /** Changes nothing, and registers the secrets in the content. Undefined if it cannot be read. */
  readonly content: () => Uint8Array | undefined
}

/**
 * Gives a served run the secrets in its files. The tape has placeholders instead, which cannot sign
 * anything. The real content stays in memory: it is masked like the recorded one wherever it is
 * compared or shown.
 */
export class ServedFiles {
  /** Files for which the program got placeholders. */
  readonly placeholders = new Set<string>()

  constructor(readonly options: ServedFilesOptions) {}

  /** The content on disk instead of the recorded one, if they differ only in placeholders. */
  reveal({ title, content }: ReadAgain, proof: string, recorded: Uint8Array): Uint8Array {
    const { secrets, isContinued } = this.options
    const own = content()
    const isProven = own !== undefined && proof !== '' && proofOf('', own, false) === proof
    if (
      own !== undefined &&
      (isProven || isContinued) &&
      Buffer.compare(secrets.bytes(own), recorded) === 0
    )
      return own
    this.placeholders.add(secrets.text(title))
    return recorded
  }
}

/** The proof of an answer with placeholders; undefined for any other. */
export const proofIn = (event: { readonly type: string }): string | undefined =>
  event.type === 'result' ? (event as ResultEvent).proof : undefined
