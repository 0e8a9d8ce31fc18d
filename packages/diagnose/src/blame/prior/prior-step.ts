/**
 * A step as the prior sees it: who did what, in words. Made from the steps of a
 * tape (`priorSteps`) or from any other log of a run.
 *
 * `task`: says what is to be done. `plan`: an agent that reasons about the work of
 * others. `instruction`: asks another agent to do something. `agent`: a model or an
 * agent that acts. `environment`: what a tool, a process or a server answered.
 */
export type PriorRole = 'task' | 'plan' | 'instruction' | 'agent' | 'environment'

export interface PriorStep {
  readonly role: PriorRole
  /** Who it was: an agent, a tool. */
  readonly speaker: string
  /** What was said or came back. */
  readonly text: string
  /** Known to have failed. Where it is missing, the words of an environment tell. */
  readonly isError?: boolean
  /** Tools that were asked for, with their arguments, as text. */
  readonly calls?: string
}

/** Roles that decide something, and can be wrong. */
export const isActing = ({ role }: PriorStep): boolean => role !== 'environment' && role !== 'task'
