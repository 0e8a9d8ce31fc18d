/**
 * Real failed runs as fork sources: what a fork comes to is looked up in a table
 * of re-executed repairs (test/golden/blame/README.md). Steps are messages.
 *
 * @typedef {{ kind: 'replace' | 'drop' | 'insert', msg_index: number | null, tool: string }} Edit
 * @typedef {{ i: number, role: string, tool: string | null, err: boolean }} TableStep
 * @typedef {{ domain: string, task_id: number | string, trial: number, n_messages: number, steps: TableStep[], edits: Edit[], pass_by_edit_mask: string | null }} TableRun
 */

/** Runs that fail as recorded and that some set of edits repairs. @param {readonly TableRun[]} runs */
export const usableRuns = (runs) =>
  runs.filter(({ pass_by_edit_mask: table }) => table?.[0] === '0' && table.includes('1'))

/** A failed run, forked by looking things up. The same coalition always comes to the same. */
export class TableForks {
  /** @param {TableRun} run */
  constructor(run) {
    this.run = run
    this.stepCount = run.n_messages
    const last = run.steps.findLast(({ role }) => role === 'assistant')?.i ?? 0
    /** The step that each edit is charged to; a missing call to the last of the assistant. */
    this.places = run.edits.map(({ msg_index: place }) => place ?? last)
    const edited = new Set(this.places)
    /** @type {readonly number[]} */
    this.recorded = Array.from({ length: this.stepCount }, (_, step) => (edited.has(step) ? 1 : 0))
    this.ambient = []
    this.forks = 0
  }

  /** Whether the run passes when exactly these steps are repaired. @param {(step: number) => boolean} isRepaired */
  passesWhen(isRepaired) {
    let mask = 0
    for (const [bit, step] of this.places.entries()) if (isRepaired(step)) mask |= 1 << bit
    return this.run.pass_by_edit_mask?.[mask] === '1'
  }

  /**
   * Both modes come to the same: an edit is there or not, whatever came before.
   *
   * @param {import('@retake/lab').Coalition} coalition
   * @returns {Promise<import('@retake/lab').Fork>}
   */
  fork({ pinned }) {
    this.forks++
    const held = new Set(pinned)
    const outcome = this.passesWhen((step) => !held.has(step)) ? 'pass' : 'fail'
    const values = this.recorded.map((value, step) => (held.has(step) ? value : 0))
    return Promise.resolve({ outcome, values })
  }

  /** The fewest steps that repair it together, by trying all. @returns {number[]} */
  smallestRepair() {
    return this.#sets()
      .filter((set) => this.passesWhen((step) => set.includes(step)))
      .reduce((best, set) => (best.length > 0 && best.length <= set.length ? best : set), [])
  }

  /** Steps whose repair ever makes a difference, whatever else is repaired. All others are innocent. */
  guiltySteps() {
    const sets = this.#sets()
    return [...new Set(this.places)].filter((step) =>
      sets.some((set) => {
        const without = set.filter((other) => other !== step)
        const passes = (/** @type {number[]} */ repaired) =>
          this.passesWhen((other) => repaired.includes(other))
        return passes(without) !== passes([...without, step])
      }),
    )
  }

  /** All sets of steps that have an edit. @returns {number[][]} */
  #sets() {
    const steps = [...new Set(this.places)]
    return Array.from({ length: 1 << steps.length }, (_, mask) =>
      steps.filter((_step, bit) => (mask >> bit) & 1),
    )
  }
}
