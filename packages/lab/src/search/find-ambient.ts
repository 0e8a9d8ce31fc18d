import { takeAnchors } from './anchors.js'
import { followsFrom, type Learned, learnCauses } from './learn-causes.js'
import type { Search } from './search.js'
import { type StepSet, union } from './step-set.js'

/** `done`: ambient inputs alone made the run fail. `open`: undecided. `steps`: search the steps. */
type Next = 'steps' | 'done' | 'open'

/**
 * Decides whether the failure needs ambient inputs: the clock, random values, files, the order of
 * answers. If not, the run fails as often with every step pinned and every ambient input live as it
 * does unchanged. If so, searches the smallest set of inputs that the failure needs, still with
 * every step pinned. These forks make no live request.
 *
 * Returns `steps` if causes must be searched among the steps, with `search.ambient` pinned.
 */
export async function findAmbient(search: Search): Promise<Next> {
  const every = search.everyInput
  if (every.length === 0) return 'steps'
  const steps = search.everyStep
  const inputs = search.among({
    count: every.length,
    coalition: (ambient) => ({ pinned: steps, mode: 'free', ambient }),
  })
  const anchors = await takeAnchors(inputs, undefined, undefined, 'ambient')
  if (anchors.areSame) return separates(search)
  if (anchors.areSeparate) await learnCauses(inputs)
  const found = inputs.learned?.causes[0]
  if (!found) {
    search.ambient = every
    search.note(
      'It could not be decided whether inputs other than steps matter, such as the clock; they were pinned in every fork.',
    )
    return separates(search)
  }
  const game = search.among({
    count: 2,
    coalition: (pinned, mode) => ({
      pinned: pinned.includes(1) ? steps : [],
      mode,
      ambient: pinned.includes(0) ? found : [],
    }),
  })
  if ((await takeAnchors(game)).areSeparate) await learnCauses(game)
  const [enough] = game.learned?.causes ?? []
  if (enough?.join() === '0') {
    const errorRate = inputs.learned!.errorRate + game.learned!.errorRate
    search.ambientCause = { inputs: found, errorRate }
    return 'done'
  }
  search.ambient = found
  search.needed = found
  return separates(search)
}

async function separates(search: Search): Promise<Next> {
  return (await takeAnchors(search)).areSeparate ? 'steps' : 'open'
}

/**
 * Steps that fail on their own may only repeat the effect of ambient inputs: with those pinned as
 * recorded, the run fails before the first cause among the steps is complete. Searches for the
 * inputs that made it fail.
 */
export async function findEarlierCause(search: Search): Promise<Next> {
  const every = search.everyInput
  search.learned = undefined
  search.earliest = 'known'
  search.ambient = every
  const anchors = await takeAnchors(search)
  if (!anchors.areSeparate && !anchors.areSame) return 'open'
  if (anchors.areSeparate) await learnCauses(search)
  const { learned } = search as { learned: Learned | undefined }
  const cause = anchors.areSame ? [] : learned?.causes[0]
  if (!cause) return 'open'
  const inputs = search.among({
    count: every.length,
    coalition: (ambient, mode) => ({ pinned: cause, mode, ambient }),
  })
  if (!(await takeAnchors(inputs, undefined, undefined, 'ambient')).areSeparate) return 'open'
  await learnCauses(inputs)
  const { causes: [found] = [], errorRate = 1 } = inputs.learned ?? {}
  if (!found) return 'open'
  if (anchors.areSeparate) {
    search.needed = found
    return 'done'
  }
  search.ambientCause = { inputs: found, errorRate }
  search.ambient = []
  return separates(search)
}

/** Drops causes that follow from the ambient cause, although they would also fail without it. */
export async function dropFollowers(search: Search): Promise<void> {
  const { ambientCause, learned, ledger } = search
  if (!ambientCause || !learned) return
  const caused = ledger.cell({ pinned: [], mode: 'free', ambient: ambientCause.inputs })
  const independent: StepSet[] = []
  let { changed, undecided } = learned
  for (const cause of learned.causes) {
    const follows = []
    for (const member of cause) follows.push(await followsFrom(search, caused, cause, member))
    if (follows.includes(true)) changed = union(changed, cause)
    else if (follows.includes(undefined)) undecided = union(undecided, cause)
    else independent.push(cause)
  }
  learned.causes.splice(0, Infinity, ...independent)
  learned.changed = changed
  learned.undecided = undecided
  learned.isSetAside = true
}
