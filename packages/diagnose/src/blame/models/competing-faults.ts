import type { ScenarioName } from './scenarios.js'

/** A step of a scenario in which faults compete, and what must be said of it. */
export interface CompetingFault {
  readonly name: string
  readonly scenario: ScenarioName
  readonly step: number
  /** It belongs to what made this run fail first. */
  readonly isNecessary: boolean
  /** Kept alone, it fails. */
  readonly isSufficient: boolean
}

/** The nine cases known from this field. "Necessary" is meant in time: who made it fail first. */
export const COMPETING_FAULTS: readonly CompetingFault[] = [
  fault('root', 'root-echo-7', 0, true, true),
  fault('downstream echo', 'root-echo-7', 1, false, true),
  fault('decoy beside a root', 'root-echo-7', 2, false, false),
  fault('gate', 'and2-7', 3, true, false),
  fault('payload', 'and2-7', 4, true, false),
  fault('decoy beside a gate', 'and2-7', 2, false, false),
  fault('gate that comes too late', 'root-echo-and2-7', 3, false, false),
  fault('payload that comes too late', 'root-echo-and2-7', 4, false, false),
  fault('root under load', 'root-echo-and2-7', 0, true, true),
]

function fault(
  name: string,
  scenario: ScenarioName,
  step: number,
  isNecessary: boolean,
  isSufficient: boolean,
): CompetingFault {
  return { name, scenario, step, isNecessary, isSufficient }
}
