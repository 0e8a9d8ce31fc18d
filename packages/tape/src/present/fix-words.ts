import type { FixClaim, FixView } from '../findings/run-fix.js'

export const CLAIM_WORDS: Readonly<Record<FixClaim, string>> = {
  'this-run': 'repairs this run',
  'this-kind': 'repairs this kind of run',
  proven: 'proven',
}

/** The claim of a fix, or the verdict on a change that is not one. */
export const fixWords = ({ verdict, claim }: Pick<FixView, 'verdict' | 'claim'>): string =>
  verdict === 'repairs' && claim !== undefined ? CLAIM_WORDS[claim] : verdict
