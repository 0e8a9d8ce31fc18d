import type { FileSecrets } from '../kernel/machine.js'
import { proofOf } from './machine-key.js'
import type { SecretMask } from './secrets.js'

/**
 * Gives a served run the secrets in its files. The tape has placeholders instead, which cannot sign
 * anything. The real content stays in memory: wherever it is compared or shown, it is masked like
 * the recorded content.
 */
export class ServedFiles implements FileSecrets {
  /** Files for which the program got placeholders. */
  readonly placeholders = new Set<string>()

  /** `isContinued`: the run goes live after the tape, and uses today's secrets in the files. */
  constructor(
    readonly secrets: SecretMask,
    readonly isContinued: boolean,
  ) {}

  /**
   * The content on disk instead of the recorded content, if they differ only in placeholders.
   * `content` returns it and registers its secrets; undefined if it cannot be read.
   */
  reveal(
    { title, content }: { readonly title: string; readonly content: () => Uint8Array | undefined },
    proof: string,
    recorded: Uint8Array,
  ): Uint8Array {
    const { secrets, isContinued } = this
    const own = content()
    const isProven = own !== undefined && proof !== '' && proofOf('', own, false) === proof
    if (
      own !== undefined &&
      (isProven || isContinued) &&
      Buffer.compare(secrets.bytes(own), recorded) === 0
    ) {
      secrets.giveContent(Buffer.from(own).toString())
      return own
    }
    this.placeholders.add(secrets.text(title))
    return recorded
  }
}
