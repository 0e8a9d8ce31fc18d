/**
 * Failures whose causes are known, because they were planted. Each is a small
 * agent of a few steps; a step carries a fault (1) or does not (0).
 *
 * @typedef {object} Planted
 * @property {number} steps how many there are
 * @property {readonly number[]} faulty steps that carry a fault in the failed run
 * @property {(step: number, before: readonly number[]) => number} [free]
 *   what a free step comes to, from what came before it; without a fault unless set
 * @property {(values: readonly number[], random: () => number) => boolean} fails
 * @property {readonly number[]} truth what must be blamed; nothing where nobody is to blame
 * @property {readonly number[]} [echoes]
 * @property {readonly (readonly number[])[]} [backUps]
 */

/** @type {Readonly<Record<string, Planted>>} */
export const FAULTS = {
  // Steps 0 and 4 are decoys: they carry a fault that does nothing.
  'root, echo and decoys': {
    steps: 6,
    faulty: [0, 1, 3, 4],
    free: (step, before) => (step === 3 ? before[1] : 0),
    fails: (values) => values[1] === 1 || values[3] === 1,
    truth: [1],
    echoes: [3],
  },
  'two together': {
    steps: 6,
    faulty: [2, 4],
    fails: (values) => values[2] === 1 && values[4] === 1,
    truth: [2, 4],
  },
  'back-up': {
    steps: 6,
    faulty: [1, 4],
    fails: (values) => values[1] === 1 || values[4] === 1,
    truth: [1],
    backUps: [[4]],
  },
  // Without step 1, step 3 would have failed in its place: a repair helps only where the rest is held.
  'pre-emption': {
    steps: 5,
    faulty: [1],
    free: (step, before) => (step === 3 ? 1 - before[1] : 0),
    fails: (values) => values[1] === 1 || values[3] === 1,
    truth: [1],
  },
  'control: fails whatever is kept': {
    steps: 5,
    faulty: [1, 2],
    fails: () => true,
    truth: [],
  },
}
