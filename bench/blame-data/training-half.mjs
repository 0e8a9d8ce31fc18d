import { createHash } from 'node:crypto'

/** The shipped weights were learned from the questions whose hash ends even; the others were kept back. */
export const wasTrainedOn = (id) =>
  Number.parseInt(createHash('sha256').update(id).digest('hex').at(-1), 16) % 2 === 0
