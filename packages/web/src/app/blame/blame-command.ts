import type { RunHead } from '../../model/run-head.js'

/**
 * What to type to have the causes of a run searched for. What passing means, only its user
 * knows; of a run that ended with an error it is likely that it should not have.
 */
export function blameCommand({ id, exit }: Pick<RunHead, 'id' | 'exit'>): string {
  const isWrong = exit?.error !== undefined || (exit?.code ?? 0) !== 0
  return `npx retake blame ${id} --oracle ${isWrong ? 'exit:0' : "'stdout:/what it should say/'"}`
}
