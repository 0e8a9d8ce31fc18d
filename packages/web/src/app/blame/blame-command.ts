import type { Run } from '../run/use-run.js'

/** What to type to have the causes of a run searched for. */
export const blameCommand = ({ id }: Pick<Run, 'id'>): string => `npx retake blame ${id}`
